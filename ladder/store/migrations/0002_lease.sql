-- The lease: claim, renew, finish, fail, reap, ring, void. A match is held by at most one attempt;
-- its number is the fence. Every function is its own hop: call it, then commit.
--
-- Rows are locked in one order everywhere: matches (ascending), then the season, then entries
-- (ascending), then scrims (ascending). Workers may execute claim, renew, finish, fail, register
-- and see (0003_role.sql); the rest belongs to the scheduler.
--
-- Error codes: PK001 = the caller broke the protocol, the message says how.

-- Whether a node can play a match: its queue, its profiles, its GPUs, its speed class.
create function lease_fits(w workers, m matches) returns boolean
language sql immutable as $$
    select m.queue = any (w.queues) and m.profiles <@ w.profiles and m.gpu <= w.gpu
       and m.speed_class in ('any', w.speed_class)
$$;

create function lease_register(p_worker jsonb) returns void
language plpgsql security definer set search_path = public, pg_temp as $$
begin
    insert into workers (id, host, node, queues, slots, profiles, gpu, speed_class, lacks)
    select h.id, h.host, h.node, h.queues, h.slots, h.profiles, h.gpu, h.speed_class, h.lacks
      from jsonb_to_record(p_worker) as h(id text, host text, node text, queues text[],
           slots integer, profiles text[], gpu integer, speed_class text, lacks text[])
    on conflict (id) do update
       set host = excluded.host, node = excluded.node, queues = excluded.queues,
           slots = excluded.slots, profiles = excluded.profiles, gpu = excluded.gpu,
           speed_class = excluded.speed_class, lacks = excluded.lacks,
           seen_at = clock_timestamp();
end $$;

-- False: no such worker, say hello again.
create function lease_see(p_worker text) returns boolean
language plpgsql security definer set search_path = public, pg_temp as $$
begin
    update workers set seen_at = clock_timestamp() where id = p_worker;
    return found;
end $$;

-- The whole order, or null when there is nothing to do: not queued, past its deadline, not for
-- this node, or refused because this worker let it lapse and another live one serves the queue.
create function lease_claim(p_match text, p_worker text) returns jsonb
language plpgsql security definer set search_path = public, pg_temp as $$
declare
    m matches;
    w workers;
    v_now timestamptz;
    v_order jsonb;
begin
    select * into w from workers where id = p_worker;
    if not found then
        raise exception 'worker % has not said hello: register it first', p_worker
            using errcode = 'PK001';
    end if;
    select * into m from matches where id = p_match for update;
    v_now := clock_timestamp();
    if not found or m.state <> 'queued' or m.deadline_at <= v_now or not lease_fits(w, m) then
        return null;
    end if;
    if m.refused_worker = p_worker and m.refused_until > v_now and exists (
        select 1 from workers o
         where o.id <> p_worker and o.seen_at > v_now - interval '15 seconds' and lease_fits(o, m)
    ) then
        update matches set rung_at = null where id = p_match;  -- ring again, for somebody else
        return null;
    end if;
    update matches
       set state = 'running', attempt = attempt + 1, worker = p_worker, node = w.node,
           claimed_at = v_now, lease_until = v_now + make_interval(secs => lease_seconds)
     where id = p_match;
    select jsonb_build_object(
               'match_id', m.id, 'attempt', m.attempt + 1, 'kind', m.kind, 'game', s.game,
               'configuration', s.configuration, 'clock', s.clock, 'memory_mb', s.memory_mb,
               'seed', encode(m.seed, 'hex'), 'lease_seconds', m.lease_seconds,
               'profiles', (select jsonb_agg(profile order by seat) from seats
                             where match_id = p_match),
               'digests', (select jsonb_agg(b.digest order by t.seat)
                             from seats t join submissions b on b.id = t.submission_id
                            where t.match_id = p_match))
      into strict v_order
      from seasons s where s.id = m.season_id;
    return v_order;
end $$;

-- Extends every lease still held, one call for a whole host; returns those it still holds.
create function lease_renew(p_matches text[], p_attempts integer[])
returns table (match_id text, attempt integer)
language plpgsql security definer set search_path = public, pg_temp as $$
#variable_conflict use_column
begin
    return query
    with held as (
        select m.id from matches m
          join unnest(p_matches, p_attempts) as h(id, attempt)
            on h.id = m.id and h.attempt = m.attempt
         where m.state = 'running'
         order by m.id
           for update of m
    )
    update matches m set lease_until = clock_timestamp() + make_interval(secs => m.lease_seconds)
      from held where m.id = held.id
    returning m.id, m.attempt;
end $$;

-- Internal. Takes matches, locked by the caller, out of a worker's hands or out of the queue: queued
-- again while attempts are left, else (or with p_void) void. Keeps every counter. Returns the void.
create function lease_drop(
    p_ids text[], p_ended text, p_fault text, p_detail text, p_void boolean
) returns text[]
language plpgsql security definer set search_path = public, pg_temp as $$
declare
    v_ran text[];
    v_gone text[];
    v_now timestamptz := clock_timestamp();
    r record;
begin
    with ran as (
        insert into attempts (match_id, attempt, worker, node, started_at, ended_at, ended, fault,
                              detail)
        select id, attempt, worker, node, claimed_at, v_now, p_ended, p_fault, left(p_detail, 2000)
          from matches where id = any (p_ids) and state = 'running'
        returning match_id
    )
    select coalesce(array_agg(match_id), '{}') into v_ran from ran;

    with gone as (
        update matches
           set state = 'void', finished_at = v_now, lease_until = null,
               void_reason = case when p_void then left(p_detail, 2000)
                   else format('%s attempts used up; the last: %s', attempt, left(p_detail, 1000))
                   end
         where id = any (p_ids) and state in ('queued', 'running')
           and (p_void or (state = 'running' and attempt >= max_attempts))
        returning id
    )
    select coalesce(array_agg(id), '{}') into v_gone from gone;

    update matches m
       set state = 'queued', refused_worker = m.worker,
           refused_until = v_now + interval '10 seconds',
           worker = null, node = null, lease_until = null, claimed_at = null, rung_at = null,
           deadline_at = v_now + make_interval(secs => s.queue_seconds)
      from seasons s
     where m.id = any (p_ids) and m.state = 'running' and s.id = m.season_id;

    for r in
        select t.entry_id,
               count(distinct m.id) filter (where m.kind = 'rated' and m.id = any (v_gone)) as gone,
               count(distinct m.id) filter (where m.kind = 'rated' and m.id = any (v_ran)
                                             and p_ended <> 'void') as lost
          from matches m join seats t on t.match_id = m.id
         where m.id = any (p_ids) and m.kind <> 'scrim'
         group by t.entry_id order by t.entry_id
    loop
        -- A pending entry whose validation came to nothing is due at once: entries.expire sees to it.
        update entries
           set in_flight = in_flight - r.gone, host_faults = host_faults + r.lost,
               deadline_at = case when state = 'pending' and validation_match_id = any (v_gone)
                   then v_now else deadline_at end
         where id = r.entry_id;
    end loop;

    for r in
        select scrim_id, count(*) as gone from matches
         where id = any (v_gone) and scrim_id is not null group by scrim_id order by scrim_id
    loop
        perform lease_count_scrim(r.scrim_id, 0, r.gone::integer);
    end loop;
    perform pg_notify('peck_void', id) from unnest(v_gone) as id;
    return v_gone;
end $$;

-- Internal. Counts games of a scrim; the last one closes it.
create function lease_count_scrim(p_scrim text, p_finished integer, p_void integer) returns void
language sql security definer set search_path = public, pg_temp as $$
    update scrims
       set finished_games = finished_games + p_finished, void_games = void_games + p_void,
           state = case when state = 'running'
                         and finished_games + void_games + p_finished + p_void >= games
                   then 'finished' else state end,
           finished_at = case when finished_games + void_games + p_finished + p_void >= games
                         then coalesce(finished_at, clock_timestamp()) else finished_at end
     where id = p_scrim
$$;

-- A worker gives its attempt back through no fault of an agent. False: it no longer held it.
create function lease_fail(
    p_match text, p_attempt integer, p_worker text, p_fault text, p_detail text
) returns boolean
language plpgsql security definer set search_path = public, pg_temp as $$
begin
    perform 1 from matches
      where id = p_match and state = 'running' and attempt = p_attempt and worker = p_worker
        for update;
    if not found then
        return false;
    end if;
    perform lease_drop(array[p_match], 'fault', p_fault, p_detail, false);
    return true;
end $$;

-- 'accepted', or 'late' when another attempt holds the match or it is over: then nothing changes.
create function lease_finish(
    p_match text, p_attempt integer, p_worker text, p_seats jsonb, p_episodes jsonb,
    p_node text, p_image_digest text, p_rules_digest text
) returns text
language plpgsql security definer set search_path = public, pg_temp as $$
declare
    m matches;
    v_now timestamptz;
    v_seats integer;
    v_written integer;
    v_no bigint;
begin
    select * into m from matches where id = p_match for update;
    v_now := clock_timestamp();
    if not found or m.state <> 'running' or m.attempt <> p_attempt or m.worker <> p_worker then
        return 'late';
    end if;

    select count(*) into v_seats from seats where match_id = p_match;
    update seats t
       set placement = r.placement, reward = r.reward, verdict = r.verdict, reason = r.reason,
           failed_step = r.failed_step, charged_seconds = r.charged_seconds,
           max_move_seconds = r.max_move_seconds, log_digest = r.log_digest
      from jsonb_to_recordset(p_seats) as r(seat integer, placement integer,
           reward double precision, verdict text, reason text, failed_step integer,
           charged_seconds double precision, max_move_seconds double precision, log_digest text)
     where t.match_id = p_match and t.seat = r.seat
       and r.placement between 1 and v_seats and r.verdict is not null;
    get diagnostics v_written = row_count;
    if v_written <> v_seats or jsonb_array_length(p_seats) <> v_seats
       or jsonb_array_length(p_episodes) = 0 then
        raise exception 'result of % must give each of its % seats once, a placement from 1 to %, a verdict, and an episode',
            p_match, v_seats, v_seats using errcode = 'PK001';
    end if;
    insert into episodes (id, match_id, position, steps, replay_digest)
    select e.id, p_match, e.position, e.steps, e.replay_digest
      from jsonb_to_recordset(p_episodes)
           as e(id text, position integer, steps integer, replay_digest text);
    insert into attempts (match_id, attempt, worker, node, image_digest, rules_digest, started_at,
                          ended_at, ended)
    values (p_match, p_attempt, p_worker, p_node, p_image_digest, p_rules_digest, m.claimed_at,
            v_now, 'finished');

    if m.kind = 'rated' then
        v_no := lease_accept(m);
    end if;
    update matches
       set state = 'finished', finished_at = v_now, lease_until = null, accepted_no = v_no
     where id = p_match;
    if m.kind = 'validation' then
        perform lease_judge(m);
    elsif m.kind = 'scrim' then
        perform lease_count_scrim(m.scrim_id, 1, 0);
    end if;
    perform pg_notify('peck_finished', p_match);
    return 'accepted';
end $$;

-- Internal. Writes the season's log for a rated result and returns its number. The numbers come
-- from the season's row in this transaction, so they have no gaps and follow the order of commits.
create function lease_accept(m matches) returns bigint
language plpgsql security definer set search_path = public, pg_temp as $$
declare
    v_no bigint;
    v_old text;
    r record;
begin
    perform 1 from seasons where id = m.season_id for no key update;
    select match_id into v_old from acceptances a
     where a.match_id = m.rejudges and a.act = 'accept' and not exists (
           select 1 from acceptances w where w.match_id = a.match_id and w.act = 'withdraw');
    update seasons set accepted_no = accepted_no + case when v_old is null then 1 else 2 end
     where id = m.season_id returning accepted_no into v_no;
    if v_old is not null then
        insert into acceptances (season_id, no, match_id, act)
        values (m.season_id, v_no - 1, v_old, 'withdraw');
    end if;
    insert into acceptances (season_id, no, match_id) values (m.season_id, v_no, m.id);
    for r in
        select entry_id,
               count(*) filter (where match_id = m.id and verdict <> 'DONE')
             - count(*) filter (where match_id = v_old and verdict <> 'DONE') as faults
          from seats where match_id in (m.id, v_old) group by entry_id order by entry_id
    loop
        update entries set in_flight = in_flight - 1, faults = faults + r.faults
         where id = r.entry_id;
    end loop;
    return v_no;
end $$;

-- Internal. A validation result decides its pending entry: any seat at fault rejects it.
create function lease_judge(m matches) returns void
language plpgsql security definer set search_path = public, pg_temp as $$
declare
    v_entry text;
    v_agent text;
    v_keep integer;
    t seats;
begin
    select entry_id, agent_id into v_entry, v_agent from seats where match_id = m.id and seat = 0;
    select * into t from seats where match_id = m.id and verdict <> 'DONE'
     order by failed_step nulls first, seat limit 1;
    if found then
        update entries
           set state = 'rejected', deadline_at = null,
               reason = t.verdict || coalesce(' at step ' || t.failed_step, '')
                     || coalesce(': ' || t.reason, '')
         where id = v_entry and state = 'pending' and validation_match_id = m.id;
        return;
    end if;
    -- The board shows one more: its revision grows. The season is locked before the entry.
    update seasons set revision = revision + 1 where id = m.season_id
    returning active_limit into v_keep;
    if v_keep is not null then
        perform 1 from entries where season_id = m.season_id and agent_id = v_agent
            and (state = 'active' or id = v_entry) order by id for update;
    end if;
    update entries
       set state = 'active', deadline_at = null, reason = null, activated_at = clock_timestamp()
     where id = v_entry and state = 'pending' and validation_match_id = m.id;
    if found and v_keep is not null then
        update entries set state = 'retired' where id in (
            select id from entries
             where season_id = m.season_id and agent_id = v_agent and state = 'active'
             order by activated_at desc, id desc offset v_keep);
    end if;
end $$;

-- Leases that ran out: queued again or void.
create function lease_reap(p_limit integer, out requeued integer, out voided integer)
language plpgsql security definer set search_path = public, pg_temp as $$
declare
    v_ids text[];
begin
    select coalesce(array_agg(id), '{}') into v_ids from (
        select id from matches where state = 'running' and lease_until < clock_timestamp()
         order by id limit p_limit for update skip locked) as expired;
    voided := coalesce(array_length(
        lease_drop(v_ids, 'lapsed', 'worker', 'the lease ran out', false), 1), 0);
    requeued := coalesce(array_length(v_ids, 1), 0) - voided;
end $$;

-- Queued past the deadline: void. Returns how many.
create function lease_expire(p_limit integer) returns integer
language plpgsql security definer set search_path = public, pg_temp as $$
declare
    v_ids text[];
begin
    select coalesce(array_agg(id), '{}') into v_ids from (
        select id from matches where state = 'queued' and deadline_at <= clock_timestamp()
         order by id limit p_limit for update skip locked) as stale;
    return coalesce(array_length(
        lease_drop(v_ids, 'void', null, 'waited in the queue past its deadline', true), 1), 0);
end $$;

-- Ends matches that are not over, whoever holds them. Returns how many.
create function lease_void(p_ids text[], p_reason text) returns integer
language plpgsql security definer set search_path = public, pg_temp as $$
declare
    v_ids text[];
begin
    select coalesce(array_agg(id), '{}') into v_ids from (
        select id from matches where id = any (p_ids) and state in ('queued', 'running')
         order by id for update) as live;
    return coalesce(array_length(lease_drop(v_ids, 'void', null, p_reason, true), 1), 0);
end $$;

-- Marks queued matches as rung and returns them, by turn, then oldest first, so that at most p_limit
-- bells of the queue are out. A bell counts as lost after p_again_seconds. Only what a live worker can play.
create function lease_ring(p_queue text, p_limit integer, p_again_seconds double precision)
returns setof text
language plpgsql security definer set search_path = public, pg_temp as $$
declare
    v_now timestamptz := clock_timestamp();
    v_old timestamptz := v_now - make_interval(secs => p_again_seconds);
    v_out integer;
begin
    select count(*) into v_out from matches
     where queue = p_queue and state = 'queued' and rung_at > v_old;
    return query
    with due as (
        select m.id from matches m
         where m.queue = p_queue and m.state = 'queued' and m.deadline_at > v_now
           and (m.rung_at is null or m.rung_at <= v_old)
           and exists (select 1 from workers w
                        where w.seen_at > v_now - interval '15 seconds' and lease_fits(w, m))
         order by m.turn, m.id limit greatest(p_limit - v_out, 0)
           for update skip locked
    ), rung as (
        update matches m set rung_at = v_now from due where m.id = due.id returning m.id, m.turn
    )
    select id from rung order by turn, id;
end $$;
