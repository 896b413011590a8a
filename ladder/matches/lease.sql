-- The lease: how a worker claims a match, keeps it, finishes it or gives it back.
--
-- A match is queued, then running, then finished or void. At most one attempt holds it. Claiming
-- raises the attempt's number, and a call with an older number changes nothing. If the worker does
-- not renew in time, the match returns to the queue. After max_attempts it is void.
--
--   scheduler  lease_wake      picks queued matches; the scheduler sends a wake-up message for each
--   worker     lease_claim     takes the match: queued -> running, attempt + 1
--   worker     lease_claim_next   takes another match after one that it finished
--   worker     lease_waiting   asks for matches to claim while Redis brings no messages
--   worker     lease_renew     every few seconds: moves lease_until
--   worker     lease_finish    writes the result: running -> finished
--   worker     lease_fail      no result, a fault of ours: running -> queued or void
--   worker     remote_unreachable     a remote agent is unreachable: running -> void
--   rater      lease_judge     the replay of a machine that is not trusted was checked
--   scheduler  lease_reap      the lease ran out: running -> queued or void
--   scheduler  lease_expire    queued for too long: queued -> void
--   site       lease_void      ends matches: queued or running -> void; the scheduler calls it too
--
-- A worker of a machine that joined may act for this machine alone: its login says which one it is.
--
-- A worker calls each function in a transaction of its own. All functions that wait for locks take
-- them in one order: matches (ascending), the season, entries (ascending), scrims (ascending), a batch.
-- lease_wake skips locked rows. So they cannot deadlock. Error code PK001 means that the caller
-- broke the protocol; the message says how.
--
-- What workers call has force_generic_plan: a new connection plans each statement once. Otherwise
-- Postgres plans it for each of the first five calls, which costs more than the calls themselves.
-- A plan that was made while few matches ran is kept while many run. So these functions find a
-- match by its id alone: with a state beside the id, a plan may read all running matches at a call.
--
-- Some functions send a notification; matches.sql explains the channels.

-- -------------------------------------------------------------------------------------------------
-- 1. A worker registers and stays alive
-- -------------------------------------------------------------------------------------------------

-- Internal. The machine whose login this session has. Null: a login of the site itself. Only a
-- machine's role has such a name.
create or replace function lease_machine() returns text
language plpgsql stable security definer set search_path = public, pg_temp as $$
declare
    v_machine text;
    v_login text := session_user;    -- a value of type name could not use the index
begin
    if v_login not like 'peck\_machine\_%' then
        return null;
    end if;
    select id into v_machine from machines where login = v_login and revoked_at is null;
    if not found then
        raise exception 'this machine was revoked: it must join again' using errcode = 'PK001';
    end if;
    return v_machine;
end $$;

-- Internal. Refuses a worker that another machine registered.
create or replace function lease_check_worker(p_worker text) returns void
language plpgsql stable security definer set search_path = public, pg_temp as $$
begin
    if exists (select 1 from workers
                where id = p_worker and machine_id is distinct from lease_machine()) then
        raise exception 'worker % belongs to another machine', p_worker using errcode = 'PK001';
    end if;
end $$;

-- Internal. Refuses a result of a machine that names a blob which this machine did not store.
-- Otherwise it could name bytes of others, and their owner's rights would not count.
create or replace function lease_check_blobs(p_digests text[]) returns void
language plpgsql stable security definer set search_path = public, pg_temp as $$
declare
    v_machine text := lease_machine();
    v_digest text;
begin
    if v_machine is null then
        return;
    end if;
    select d into v_digest from unnest(p_digests) as d
     where d is not null
       and not exists (select 1 from machine_uploads where machine_id = v_machine and digest = d)
     limit 1;
    if found then
        raise exception 'this machine did not store %', v_digest using errcode = 'PK001';
    end if;
end $$;

-- Internal. Refuses words of a machine that are too long, or that have characters which could change
-- how a page or a terminal shows other text.
create or replace function lease_check_words(p_words jsonb, p_most integer) returns void
language plpgsql stable security definer set search_path = public, pg_temp as $$
begin
    if lease_machine() is not null and (length(p_words::text) > p_most
       or replace(replace(p_words::text, '\\', ''), '\"', '')
          ~ '[\\\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]') then
        raise exception 'this machine reports control characters or too long a text'
            using errcode = 'PK001';
    end if;
end $$;

-- Internal. Most slots that a machine offers, and most matches that it holds, so that it cannot take the
-- whole queue. One limit: else a machine would get messages for free slots that it may not use.
create or replace function lease_most_slots() returns integer
language sql immutable as $$
    select 256
$$;

-- Registers a worker. A second call replaces the first. The number of workers sets the pause between
-- heartbeats. So a machine that is not trusted registers 500 a day at most, and a trusted one 5,000.
create or replace function lease_register(p_worker jsonb) returns void
language plpgsql security definer set search_path = public, pg_temp as $$
declare
    v_machine text := lease_machine();
    v_most integer := case when exists (
        select 1 from machines where id = v_machine and tier <> 'trusted') then 500 else 5000 end;
begin
    perform lease_check_words(p_worker, 20000);
    if v_machine is not null and (
        not (p_worker ->> 'slots')::integer between 1 and lease_most_slots()
        or not coalesce((p_worker ->> 'gpu')::integer, 0) between 0 and 256
        or not (p_worker -> 'queues')
           <@ '["play.cpu", "play.gpu", "scrim", "validate", "open"]'::jsonb) then
        raise exception 'this worker has an impossible number of slots or GPUs, or queue'
            using errcode = 'PK001';
    end if;
    if v_machine is not null and (
        (select count(*) from workers
          where machine_id = v_machine and id <> p_worker ->> 'id') >= v_most
        or (p_worker ->> 'slots')::integer + (
            select coalesce(sum(slots), 0) from workers
             where machine_id = v_machine and id <> p_worker ->> 'id'
               and live_until > clock_timestamp()) > lease_most_slots()) then
        raise exception 'this machine offers more than % slots, or registered % workers in a day',
            lease_most_slots(), v_most using errcode = 'PK001';
    end if;
    insert into workers (id, host, node, queues, slots, profiles, gpu, speed_class, lacks,
                         image_digests, machine_id)
    select h.id, h.host, h.node, h.queues, h.slots, h.profiles, h.gpu, h.speed_class, h.lacks,
           coalesce(h.image_digests, '{}'), v_machine
      from jsonb_to_record(p_worker) as h(id text, host text, node text, queues text[],
           slots integer, profiles text[], gpu integer, speed_class text, lacks text[],
           image_digests jsonb)
    on conflict (id) do update
       set host = excluded.host, node = excluded.node, queues = excluded.queues,
           slots = excluded.slots, profiles = excluded.profiles, gpu = excluded.gpu,
           speed_class = excluded.speed_class, lacks = excluded.lacks,
           image_digests = excluded.image_digests,
           seen_at = clock_timestamp(), live_until = clock_timestamp() + interval '15 seconds'
     where workers.machine_id is not distinct from v_machine;
    if not found then
        raise exception 'worker % belongs to another machine', p_worker ->> 'id'
            using errcode = 'PK001';
    end if;
end $$;

-- Notes that a worker is alive. Returns the seconds until its next heartbeat. Null: the worker is
-- unknown and must register again.
--
-- All workers together send about 500 heartbeats a second at most. The number of workers comes from
-- the statistics of the table, which has the workers of the last day. After a heartbeat a worker is
-- live for three times the pause. The commit does not wait for the disk: if a crash of Postgres
-- loses a heartbeat, the next one follows.
create or replace function lease_alive(p_worker text) returns double precision
language plpgsql security definer set search_path = public, pg_temp
set plan_cache_mode = force_generic_plan as $$
declare
    v_machine text := lease_machine();
    v_seconds double precision;
begin
    perform set_config('synchronous_commit', 'off', true);
    select least(greatest(reltuples / 500, 5), 20) into v_seconds
      from pg_class where oid = 'public.workers'::regclass;
    update workers
       set seen_at = clock_timestamp(),
           live_until = clock_timestamp() + make_interval(secs => 3 * v_seconds)
     where id = p_worker and machine_id is not distinct from v_machine;
    if found then
        return v_seconds;
    end if;
    perform lease_check_worker(p_worker);
    return null;
end $$;

-- -------------------------------------------------------------------------------------------------
-- 2. The scheduler wakes workers
-- -------------------------------------------------------------------------------------------------

-- Whether a worker can play a match: compares queue, profiles, GPUs and speed class. The queue 'open'
-- has messages for matches of all queues (machines/trust.sql).
create or replace function lease_fits(w workers, m matches) returns boolean
language sql immutable as $$
    select (m.queue = any (w.queues) or 'open' = any (w.queues))
       and m.profiles <@ w.profiles and (m.gpu = 0 or w.gpu > 0)
       and m.speed_class in ('any', w.speed_class)
$$;

-- Picks queued matches for wake-up messages, lowest turn first, then oldest first. The queue has at
-- most p_limit unanswered messages. After p_again_seconds a message counts as lost and not as
-- unanswered. Skips matches that no live worker can play.
create or replace function lease_wake(p_queue text, p_limit integer, p_again_seconds double precision)
returns setof text
language plpgsql security definer set search_path = public, pg_temp as $$
declare
    v_now timestamptz := clock_timestamp();
    v_old timestamptz := v_now - make_interval(secs => p_again_seconds);
    v_out integer;
begin
    select count(*) into v_out from matches
     where queue = p_queue and state = 'queued' and woken_at > v_old
       and woken_on is distinct from 'open';
    return query
    with due as (
        select m.id from matches m
         where m.queue = p_queue and m.state = 'queued' and m.deadline_at > v_now
           and (m.woken_at is null or m.woken_at <= v_old)
           and exists (select 1 from workers w
                        where w.live_until > v_now and p_queue = any (w.queues)
                          and lease_fits(w, m) and lease_allows(w.machine_id, m))
         order by m.turn, m.id limit greatest(p_limit - v_out, 0)
           for update skip locked
    ), woken as (
        update matches m set woken_at = v_now, woken_on = null from due where m.id = due.id
        returning m.id, m.turn
    )
    select id from woken order by turn, id;
end $$;

-- -------------------------------------------------------------------------------------------------
-- 3. A worker claims a match
-- -------------------------------------------------------------------------------------------------

-- Internal. Whether so many slots are at most half of all live slots. One slot always is. The first
-- live workers with twice as many slots are enough: the others are not counted.
create or replace function lease_within_half(p_slots bigint) returns boolean
language sql volatile as $$
    select 2 * p_slots <= greatest(2, (
        select sum(slots) from (
            select slots from workers
             where live_until > clock_timestamp() and slots > 0 limit 2 * p_slots) as live))
$$;

-- Internal. After this time a running validation match does not keep a second one waiting. Otherwise one
-- slow upload on two or three slots would delay all others.
create or replace function lease_slow_validation() returns interval
language sql immutable as $$
    select interval '30 seconds'
$$;

-- Internal. Whether a worker may take this waiting match instead of another one: it can play the match,
-- its machine may play it, and the match does not refuse it.
create or replace function lease_may_take(w workers, m matches, p_now timestamptz) returns boolean
language sql stable as $$
    select lease_fits(w, m) and (w.machine_id is null or lease_allows(w.machine_id, m))
       and (m.refused_worker = w.id and m.refused_until > p_now) is not true
$$;

-- Starts an attempt and returns everything that the worker needs to play. Returns null if the match
-- is not queued, is past its deadline, or does not fit this worker (lease_fits). Returns null also if
-- the worker's machine is drained or holds lease_most_slots matches, or if the worker's attempt at the
-- match ended without a result in the last 10 seconds and another live worker can play the match. A
-- machine that may not play the match (lease_allows) gets another one that waits, or null. In all
-- cases but the first two, the match is due for another message at once.
--
-- Three rules choose another match than that of the message, whose message is due again at once:
--
-- - A waiting validation match with a lower turn is claimed instead of a validation match.
-- - Validation matches play in at most half of the slots, but at least one. If this one has run for 30
--   seconds, a second one may play too. Above that, a worker takes another match of its queues. If none
--   waits, it takes the validation match.
-- - A waiting match that goes first is claimed instead of another one, while at most half of the slots,
--   but at least one, play such matches or validation matches. Validation matches do not wait for it.
--
-- A claim sets goes_first for a validation match too. So one index finds what counts for both rules.
create or replace function lease_claim(p_match text, p_worker text) returns jsonb
language plpgsql security definer set search_path = public, pg_temp
set plan_cache_mode = force_generic_plan as $$
declare
    m matches;
    v_other matches;
    v_fits boolean;
    v_slots bigint;
    v_newest timestamptz;
    v_queue text;
    w workers;
    v_now timestamptz;
    v_is_void_without boolean;    -- whether the match is void if a remote agent is unreachable
    v_order jsonb;
begin
    perform lease_check_worker(p_worker);
    select * into w from workers where id = p_worker;
    if not found then
        raise exception 'worker % is unknown: register it first', p_worker
            using errcode = 'PK001';
    end if;
    select * into m from matches where id = p_match;
    if m.state = 'queued' then
        select * into m from matches where id = p_match for update;    -- no row that others hold
    end if;
    v_now := clock_timestamp();
    if not found or m.state <> 'queued' or m.deadline_at <= v_now then
        return null;
    end if;
    -- Postgres keeps the plan of a short condition. It would plan one long condition at each claim.
    v_fits := lease_fits(w, m);
    if v_fits and w.machine_id is not null then
        v_fits := not exists (select 1 from machines where id = w.machine_id and drained_at is not null)
            and (select count(*) from matches
                  where state = 'running' and machine_id = w.machine_id) < lease_most_slots();
    end if;
    if v_fits and m.refused_worker = p_worker and m.refused_until > v_now then
        v_fits := not exists (
            select 1 from workers o
             where o.id <> p_worker and o.live_until > v_now and lease_fits(o, m)
               and lease_allows(o.machine_id, m));
    end if;
    if v_fits is not true then
        m := null;
    elsif not lease_allows(w.machine_id, m) then
        -- The message was for a worker that may play the match. This one may take another match.
        select * into m from matches o
         where o.id in (select id from matches where state = 'queued' and queue <> 'validate'
                         order by turn, id limit 200)
           and o.state = 'queued' and o.deadline_at > v_now and lease_may_take(w, o, v_now)
         order by o.turn, o.id limit 1 for update skip locked;
    end if;
    if m.kind = 'validation' and m.turn > 0 then
        select * into v_other from matches o
         where o.queue = m.queue and o.state = 'queued' and o.turn < m.turn and o.kind = 'validation'
           and o.deadline_at > v_now and lease_may_take(w, o, v_now)
         order by o.turn, o.id limit 1 for update skip locked;
        if found then
            m := v_other;
        end if;
    end if;
    if m.kind = 'validation' then
        select 1 + count(*), max(claimed_at) into v_slots, v_newest from matches
         where goes_first and state = 'running' and kind = 'validation';
        if not (lease_within_half(v_slots)
                or v_slots = 2 and v_newest <= v_now - lease_slow_validation()) then
            foreach v_queue in array w.queues loop
                continue when v_queue = 'validate';
                -- Nothing waits for a lock here, so the order of locks does not matter.
                select * into v_other from matches o
                 where o.queue = v_queue and o.state = 'queued' and o.deadline_at > v_now
                   and lease_may_take(w, o, v_now)
                 order by o.turn, o.id limit 1 for update skip locked;
                if found then
                    m := v_other;
                    exit;
                end if;
            end loop;
        end if;
    end if;
    if m.kind <> 'validation' and not m.goes_first
       and exists (select 1 from matches
                    where goes_first and state = 'queued' and kind <> 'validation') then
        select 1 + count(*) into v_slots from matches where goes_first and state = 'running';
        if lease_within_half(v_slots) then
            select * into v_other from matches o
             where o.goes_first and o.state = 'queued' and o.kind <> 'validation'
               and o.deadline_at > v_now and lease_may_take(w, o, v_now)
             order by o.turn, o.id limit 1 for update skip locked;
            if found then
                m := v_other;
            end if;
        end if;
    end if;
    if m.id is distinct from p_match then
        update matches set woken_at = null where id = p_match;    -- due for another message at once
        perform pg_notify('peck_work', '');
        if m.id is null then
            return null;
        end if;
    end if;
    update matches
       set state = 'running', attempt = attempt + 1, worker = p_worker, node = w.node,
           goes_first = goes_first or kind = 'validation',
           machine_id = w.machine_id, claimed_at = v_now,
           lease_until = v_now + make_interval(secs => lease_seconds)
     where id = m.id;
    v_is_void_without := m.kind = 'rated'
        or exists (select 1 from tournament_games g
                    where g.match_id = m.id and g.waits_until > v_now);
    select jsonb_build_object(
               'match_id', m.id, 'attempt', m.attempt + 1,
               'kind', m.kind, 'game', s.game,
               'configuration', s.configuration, 'clock', s.clock, 'memory_mb', s.memory_mb,
               'seed', encode(m.seed, 'hex'), 'lease_seconds', m.lease_seconds,
               'profiles', (select jsonb_agg(profile order by seat) from seats
                             where match_id = m.id),
               'excused_seats', (
                   select coalesce(jsonb_agg(t.seat order by t.seat), '[]')
                     from seats t left join entries e on e.id = t.entry_id
                    where t.match_id = m.id and t.profile = 'remote' and v_is_void_without
                      and (m.kind = 'tournament' or coalesce(e.strikes, 0) < 3
                           or e.state = 'paused')),    -- queued before the third strike
               'digests', (select jsonb_agg(b.digest order by t.seat)
                             from seats t join submissions b on b.id = t.submission_id
                            where t.match_id = m.id))
      into strict v_order
      from seasons s where s.id = m.season_id;
    -- Only orders of forks have this member.
    return v_order || coalesce((
        select jsonb_build_object('fork', jsonb_build_object(
                   'replay_digest', e.replay_digest, 'step', f.step, 'draws', f.draws,
                   'moves', f.moves, 'seed', encode(o.seed, 'hex')))
          from forks f join episodes e on e.match_id = f.match_id and e.position = f.position
          join matches o on o.id = f.match_id
         where f.scrim_id = m.scrim_id), '{}');
end $$;

-- Claims another match of the same queue, for a worker that has just finished this one: the lowest
-- turn, then the oldest. Matches whose message waits in Redis are left to that message. Returns what
-- lease_claim returns.
create or replace function lease_claim_next(p_match text, p_worker text) returns jsonb
language plpgsql security definer set search_path = public, pg_temp
set plan_cache_mode = force_generic_plan as $$
declare
    w workers;
    v_now timestamptz := clock_timestamp();
    v_next text;
begin
    select * into w from workers where id = p_worker;
    select o.id into v_next from matches o
     where o.queue = (select queue from matches where id = p_match)
       and o.state = 'queued' and o.woken_at is null and o.deadline_at > v_now
       and lease_may_take(w, o, v_now)
     order by o.turn, o.id limit 1 for update skip locked;
    return case when found then lease_claim(v_next, p_worker) end;
end $$;

-- Matches that this worker could claim now: the first of each of its queues, then the second, and so
-- on. A worker asks while Redis brings no messages. A machine that is not trusted has one queue for all.
create or replace function lease_waiting(p_worker text, p_most integer) returns setof text
language plpgsql security definer set search_path = public, pg_temp as $$
declare
    w workers;
    v_now timestamptz := clock_timestamp();
begin
    perform lease_check_worker(p_worker);
    select * into w from workers where id = p_worker;
    return query
    select o.id
      from unnest(case when 'open' = any (w.queues) then '{play.cpu,play.gpu,scrim}'
                       else w.queues end) as q(name)
     cross join lateral (
           select m.id, row_number() over (order by m.turn, m.id) as place from matches m
            where m.queue = q.name and m.state = 'queued' and m.deadline_at > v_now
              and lease_may_take(w, m, v_now)
            order by m.turn, m.id limit p_most) as o
     order by o.place, q.name limit p_most;
end $$;

-- -------------------------------------------------------------------------------------------------
-- 4. It keeps the match
-- -------------------------------------------------------------------------------------------------

-- Extends the leases of these attempts and returns these attempts; one call serves a run
-- directory. Skips attempts that no longer hold their match, and does not lock their rows: ids of matches are
-- public. A lease that ran out is extended if lease_reap has not taken the match. A machine that is not
-- trusted holds a match for six hours at most.
create or replace function lease_renew(p_matches text[], p_attempts integer[])
returns table (match_id text, attempt integer)
language plpgsql security definer set search_path = public, pg_temp
set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
    v_machine text := lease_machine();
    v_oldest timestamptz := case when exists (
        select 1 from machines where id = v_machine and tier <> 'trusted')
        then clock_timestamp() - interval '6 hours' else '-infinity' end;
    h record;
    m matches;
begin
    if v_machine is not null and cardinality(p_matches) > 1000 then
        raise exception 'this machine renews more than 1000 leases in a call' using errcode = 'PK001';
    end if;
    for h in
        select u.id, u.attempt from unnest(p_matches, p_attempts) as u(id, attempt)
         order by u.id collate "C"
    loop
        select * into m from matches where id = h.id;
        continue when not found or m.state <> 'running' or m.attempt is distinct from h.attempt
            or m.machine_id is distinct from v_machine or m.claimed_at <= v_oldest;
        select * into m from matches where id = h.id for update;
        -- The match may have changed before the lock.
        continue when not found or m.state <> 'running' or m.attempt is distinct from h.attempt
            or m.machine_id is distinct from v_machine or m.claimed_at <= v_oldest
            or exists (select 1 from machine_reports r where r.match_id = m.id);
        update matches set lease_until = clock_timestamp() + make_interval(secs => lease_seconds)
         where id = m.id;
        match_id := m.id;
        attempt := m.attempt;
        return next;
    end loop;
end $$;

-- -------------------------------------------------------------------------------------------------
-- 5. It finishes the match
-- -------------------------------------------------------------------------------------------------

-- Records the result and returns 'accepted'. Returns 'late' and changes no result if this attempt no
-- longer holds the match. The result of a machine that is not trusted waits in machine_reports for
-- lease_judge, for at most 10 minutes. Then lease_reap queues the match again.
create or replace function lease_finish(
    p_match text, p_attempt integer, p_worker text, p_seats jsonb, p_episodes jsonb,
    p_node text, p_image_digest text, p_rules_digest text
) returns text
language plpgsql security definer set search_path = public, pg_temp
set plan_cache_mode = force_generic_plan as $$
declare
    m matches;
begin
    perform lease_check_worker(p_worker);
    perform lease_check_words(
        jsonb_build_array(p_seats, p_episodes, p_node, p_image_digest, p_rules_digest), 60000);
    select * into m from matches where id = p_match;
    if found and m.state = 'running' and m.attempt = p_attempt and m.worker = p_worker then
        select * into m from matches where id = p_match for update;    -- only a match that it holds
    end if;
    if not found or m.state <> 'running' or m.attempt <> p_attempt or m.worker <> p_worker
       or exists (select 1 from machine_reports where match_id = p_match) then
        -- The worker has stored logs. Those of a deleted account go.
        insert into erased_blobs (digest)
        select distinct r.log_digest
          from jsonb_to_recordset(p_seats) as r(seat integer, log_digest text)
          join seats t on t.match_id = p_match and t.seat = r.seat
          join teams g on g.id = t.team_id and g.erased_at is not null
         where r.log_digest is not null and (lease_machine() is null or exists (
               select 1 from machine_uploads
                where machine_id = lease_machine() and digest = r.log_digest))
            on conflict (digest) do nothing;
        return 'late';
    end if;
    perform lease_check_blobs(array(
        select r.log_digest from jsonb_to_recordset(p_seats) as r(log_digest text)
        union select e.replay_digest from jsonb_to_recordset(p_episodes) as e(replay_digest text)));
    if exists (select 1 from machines where id = lease_machine() and tier <> 'trusted') then
        insert into machine_reports (match_id, attempt, machine_id, worker, seats, episodes, node,
                                     image_digest, rules_digest)
        values (p_match, p_attempt, lease_machine(), p_worker, p_seats, p_episodes, p_node,
                p_image_digest, p_rules_digest);
        update matches set lease_until = clock_timestamp() + interval '10 minutes'
         where id = p_match;
        perform pg_notify('peck_work', '');
        return 'accepted';
    end if;
    perform lease_record(m, p_seats, p_episodes, p_node, p_image_digest, p_rules_digest);
    return 'accepted';
end $$;

-- Ends the wait of a result in machine_reports. Without a mismatch it counts. Otherwise the attempt
-- has ended without a result, and the mismatch counts against the machine. False: the result waits
-- no longer.
create or replace function lease_judge(p_match text, p_attempt integer, p_mismatch text)
returns boolean
language plpgsql security definer set search_path = public, pg_temp as $$
declare
    m matches;
    r machine_reports;
begin
    select * into m from matches where id = p_match for update;
    delete from machine_reports where match_id = p_match and attempt = p_attempt returning * into r;
    if not found or m.state <> 'running' or m.attempt <> p_attempt then
        return false;
    end if;
    if p_mismatch is null then
        perform lease_record(m, r.seats, r.episodes, r.node, r.image_digest, r.rules_digest);
    else
        insert into machine_mismatches (match_id, attempt, machine_id, reason)
        values (p_match, p_attempt, r.machine_id, left(p_mismatch, 500));
        perform lease_requeue_or_void(array[p_match], 'fault', 'host', null,
                                      'the replay does not give the reported result', null);
    end if;
    return true;
end $$;

-- Internal. Records the result of a running match, whose row the caller has locked.
create or replace function lease_record(
    m matches, p_seats jsonb, p_episodes jsonb, p_node text, p_image_digest text,
    p_rules_digest text
) returns void
language plpgsql security definer set search_path = public, pg_temp as $$
declare
    p_match text := m.id;
    v_now timestamptz := clock_timestamp();
    v_seats integer;
    v_written integer;
    v_no bigint;
begin
    select count(*) into v_seats from seats where match_id = p_match;
    update seats t
       set placement = r.placement, reward = r.reward, verdict = r.verdict, reason = r.reason,
           failed_step = r.failed_step, charged_seconds = r.charged_seconds,
           max_move_seconds = r.max_move_seconds, log_digest = r.log_digest,
           statistics = r.statistics, bundle_refused = r.bundle_refused,
           is_shared = (select count(*) > 1 from jsonb_to_recordset(p_seats) as o(placement integer)
                         where o.placement = r.placement)
      from jsonb_to_recordset(p_seats) as r(seat integer, placement integer,
           reward double precision, verdict text, reason text, failed_step integer,
           charged_seconds double precision, max_move_seconds double precision, log_digest text,
           statistics jsonb, bundle_refused boolean)
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
    insert into attempts (match_id, attempt, worker, machine_id, node, image_digest, rules_digest,
                          started_at, ended_at, ended)
    values (p_match, m.attempt, m.worker, (select machine_id from workers where id = m.worker),
            p_node, p_image_digest, p_rules_digest, m.claimed_at, v_now, 'finished');

    if m.kind = 'rated' then
        v_no := lease_accept(m);
        perform remote_count_answers(p_match, p_seats);
    end if;
    update matches
       set state = 'finished', finished_at = v_now, lease_until = null, accepted_no = v_no
     where id = p_match;
    if m.kind = 'validation' then
        perform entry_decide(m);
    elsif m.kind = 'scrim' and m.scrim_id is not null then
        perform lease_count_scrim(m.scrim_id, 1, 0);
    end if;
    perform pg_notify('peck_finished', p_match);
end $$;

-- Internal. Writes a rated result to the season's log and returns its number. The result of a
-- rejudged match also withdraws the result that it replaces. The number comes from the season's row
-- in this transaction. So numbers have no gaps and follow the order of commits.
create or replace function lease_accept(m matches) returns bigint
language plpgsql security definer set search_path = public, pg_temp as $$
declare
    v_no bigint;
    v_old text;
    v_in_row integer;
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
             - count(*) filter (where match_id = v_old and verdict <> 'DONE') as faults,
               bool_or(match_id = m.id and verdict <> 'DONE') as is_fault
          from seats where match_id in (m.id, v_old) group by entry_id order by entry_id
    loop
        update entries set in_flight = in_flight - 1, faults = faults + r.faults,
               faults_in_row = case when r.is_fault then faults_in_row + 1 else 0 end
         where id = r.entry_id returning faults_in_row into v_in_row;
        -- Once for a row of faults, and at most once a day for an entry.
        if v_in_row = 5 and not exists (
            select 1 from notice_events where entry_id = r.entry_id and kind = 'faults_in_row'
               and created_at > clock_timestamp() - interval '1 day') then
            perform notices_record('faults_in_row', jsonb_build_object('entry_id', r.entry_id,
                'match_id', m.id, 'details', jsonb_build_object('faults', v_in_row)));
        end if;
    end loop;
    return v_no;
end $$;

-- Internal. Counts games of a scrim; the last one finishes it.
create or replace function lease_count_scrim(p_scrim text, p_finished integer, p_void integer) returns void
language plpgsql security definer set search_path = public, pg_temp as $$
declare
    v_was text;
    c scrims;
    v_team text;
    v_all record;
begin
    select state into v_was from scrims where id = p_scrim for no key update;
    update scrims
       set finished_games = finished_games + p_finished, void_games = void_games + p_void,
           state = case when state = 'running'
                         and finished_games + void_games + p_finished + p_void >= games
                   then 'finished' else state end,
           finished_at = case when finished_games + void_games + p_finished + p_void >= games
                         then coalesce(finished_at, clock_timestamp()) else finished_at end
     where id = p_scrim
    returning * into c;
    if v_was <> 'running' or c.state <> 'finished' then
        return;
    end if;
    if c.comparison_id is not null then
        return;
    end if;
    if c.batch_id is null then            -- tell the team that asked, and the other side if it may see
        for v_team in
            select c.team_id union select q.asked_team_id from scrim_requests q
             where q.scrim_id = c.id and c.result_audience <> 'asker' order by 1
        loop
            perform notices_record('scrim_finished', jsonb_build_object('scrim_id', c.id,
                'season_id', c.season_id, 'team_id', v_team,
                'details', jsonb_build_object('finished', c.finished_games, 'games', c.games)));
        end loop;
        return;
    end if;
    perform 1 from scrim_batches where id = c.batch_id for no key update;
    select sum(finished_games) as finished, sum(games) as games into v_all
      from scrims where batch_id = c.batch_id;
    update scrim_batches set ended_at = clock_timestamp()
     where id = c.batch_id and ended_at is null and not exists (
           select 1 from scrims where batch_id = c.batch_id and state = 'running');
    if found then
        perform notices_record('batch_finished', jsonb_build_object('season_id', c.season_id,
            'team_id', c.team_id, 'details', jsonb_build_object('batch', c.batch_id,
            'finished', v_all.finished, 'games', v_all.games)));
    end if;
end $$;

-- -------------------------------------------------------------------------------------------------
-- 6. It gives the match back
-- -------------------------------------------------------------------------------------------------

-- Ends an attempt without a result and without a fault of an agent. p_cause is a
-- ladder.enums.FaultCause or null. False: the attempt no longer held the match.
create or replace function lease_fail(
    p_match text, p_attempt integer, p_worker text, p_fault text, p_cause text, p_detail text
) returns boolean
language plpgsql security definer set search_path = public, pg_temp as $$
begin
    perform lease_check_worker(p_worker);
    perform 1 from matches
      where id = p_match and state = 'running' and attempt = p_attempt and worker = p_worker
        for update;
    if not found or exists (select 1 from machine_reports where match_id = p_match) then
        return false;
    end if;
    perform lease_requeue_or_void(array[p_match], 'fault', p_fault, p_cause, regexp_replace(p_detail,
        '[\u0001-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]+', ' ', 'g'), null);
    return true;
end $$;

-- Voids a match whose remote agents in excused seats (lease_claim) are unreachable. In a rated
-- match each of their entries gets a strike. An entry that rests or is paused has to answer more instead.
-- p_reasons maps seat to reason. False: the worker no longer held the match.
create or replace function remote_unreachable(p_match text, p_attempt integer, p_worker text, p_reasons jsonb)
returns boolean
language plpgsql security definer set search_path = public, pg_temp as $$
declare
    m matches;
    v_seats text;
    r record;
begin
    perform lease_check_worker(p_worker);
    perform lease_check_words(p_reasons, 20000);
    select * into m from matches where id = p_match;
    if found and m.state = 'running' and m.attempt = p_attempt and m.worker = p_worker then
        select * into m from matches where id = p_match for update;    -- only a match that it holds
    end if;
    if not found or m.state <> 'running' or m.attempt <> p_attempt or m.worker <> p_worker
       or exists (select 1 from machine_reports where match_id = p_match) then
        return false;
    end if;
    if m.kind not in ('rated', 'tournament') then
        raise exception '% is neither rated nor of a tournament: an unreachable agent loses it', p_match
            using errcode = 'PK001';
    end if;
    select string_agg(seat::text, ', ' order by seat) into v_seats
      from seats t where match_id = p_match and profile = 'remote' and p_reasons ? seat::text;
    if v_seats is null or (select count(*) from jsonb_object_keys(p_reasons)) <>
       (select count(*) from seats where match_id = p_match and profile = 'remote'
           and p_reasons ? seat::text) then
        raise exception 'only remote seats of % can be away', p_match using errcode = 'PK001';
    end if;
    perform 1 from seasons where id = m.season_id for no key update;
    perform lease_requeue_or_void(array[p_match], 'void', null, null,
                       'a remote agent was away, in seat ' || v_seats, 'agent_unreachable');
    if m.kind = 'tournament' then
        return true;
    end if;
    for r in
        select entry_id, min(p_reasons ->> seat::text) as reason from seats
         where match_id = p_match and p_reasons ? seat::text
         group by entry_id order by entry_id
    loop
        perform remote_count_void(r.entry_id);    -- before this match is a strike itself
        perform remote_strike(r.entry_id, r.reason);
    end loop;
    return true;
end $$;

-- -------------------------------------------------------------------------------------------------
-- 7. The scheduler or the site ends it
-- -------------------------------------------------------------------------------------------------

-- Requeues or voids matches whose lease has expired.
create or replace function lease_reap(p_limit integer, out requeued integer, out voided integer)
language plpgsql security definer set search_path = public, pg_temp as $$
declare
    v_ids text[];
begin
    select coalesce(array_agg(id), '{}') into v_ids from (
        select id from matches where state = 'running' and lease_until < clock_timestamp()
         order by id limit p_limit for update skip locked) as expired;
    voided := coalesce(array_length(
        lease_requeue_or_void(v_ids, 'lapsed', 'worker', null, 'the lease ran out', null), 1), 0);
    requeued := coalesce(array_length(v_ids, 1), 0) - voided;
end $$;

-- Voids matches that are queued past their deadline. Returns how many.
create or replace function lease_expire(p_limit integer) returns integer
language plpgsql security definer set search_path = public, pg_temp as $$
declare
    v_ids text[];
begin
    select coalesce(array_agg(id), '{}') into v_ids from (
        select id from matches where state = 'queued' and deadline_at <= clock_timestamp()
         order by id limit p_limit for update skip locked) as stale;
    return coalesce(array_length(lease_requeue_or_void(
        v_ids, 'void', null, null, 'waited in the queue past its deadline', 'overdue'), 1), 0);
end $$;

-- Voids unfinished matches, even running ones. p_cause is a ladder.enums.VoidCause, p_reason its text
-- for people. Returns how many.
create or replace function lease_void(p_ids text[], p_cause text, p_reason text) returns integer
language plpgsql security definer set search_path = public, pg_temp as $$
declare
    v_ids text[];
begin
    select coalesce(array_agg(id), '{}') into v_ids from (
        select id from matches where id = any (p_ids) and state in ('queued', 'running')
         order by id for update) as live;
    return coalesce(array_length(
        lease_requeue_or_void(v_ids, 'void', null, null, p_reason, p_cause), 1), 0);
end $$;

-- -------------------------------------------------------------------------------------------------
-- 8. What 6 and 7 share
-- -------------------------------------------------------------------------------------------------

-- Internal. Ends running attempts of these matches; the caller has locked the rows. With p_void_cause,
-- or after the last attempt, a match is void. Otherwise it is queued with a new deadline, and for 10
-- seconds it refuses its last worker (lease_claim). p_ended, p_fault, p_fault_cause and p_detail go
-- into the attempts. Updates the counters of entries and scrims. Returns the void matches.
create or replace function lease_requeue_or_void(
    p_ids text[], p_ended text, p_fault text, p_fault_cause text, p_detail text, p_void_cause text
) returns text[]
language plpgsql security definer set search_path = public, pg_temp as $$
declare
    v_ran text[];
    v_gone text[];
    v_now timestamptz := clock_timestamp();
    r record;
begin
    delete from machine_reports where match_id = any (p_ids);
    with ran as (
        insert into attempts (match_id, attempt, worker, machine_id, node, started_at, ended_at,
                              ended, fault, fault_cause, detail)
        select id, attempt, worker, (select w.machine_id from workers w where w.id = worker), node,
               claimed_at, v_now, p_ended, p_fault, p_fault_cause, left(p_detail, 2000)
          from matches where id = any (p_ids) and state = 'running'
        returning match_id
    )
    select coalesce(array_agg(match_id), '{}') into v_ran from ran;

    with gone as (
        update matches
           set state = 'void', finished_at = v_now, lease_until = null,
               void_cause = coalesce(p_void_cause, 'attempts_used_up'),
               void_reason = case when p_void_cause is not null then left(p_detail, 2000)
                   else format('%s attempts used up; the last: %s', attempt, left(p_detail, 1000))
                   end
         where id = any (p_ids) and state in ('queued', 'running')
           and (p_void_cause is not null or (state = 'running' and attempt >= max_attempts))
        returning id
    )
    select coalesce(array_agg(id), '{}') into v_gone from gone;

    update matches m
       set state = 'queued', refused_worker = m.worker,
           refused_until = v_now + interval '10 seconds',
           worker = null, machine_id = null, node = null, lease_until = null, claimed_at = null,
           woken_at = null,
           deadline_at = v_now + make_interval(secs => s.queue_seconds)
      from seasons s
     where m.id = any (p_ids) and m.state = 'running' and s.id = m.season_id;
    if found then
        perform pg_notify('peck_work', '');
    end if;

    for r in
        select t.entry_id,
               count(distinct m.id) filter (where m.kind = 'rated' and m.id = any (v_gone)) as gone,
               count(distinct m.id) filter (where m.kind = 'rated' and m.id = any (v_ran)
                                             and p_ended <> 'void') as lost
          from matches m join seats t on t.match_id = m.id
         where m.id = any (p_ids) and m.kind <> 'scrim'
         group by t.entry_id order by t.entry_id
    loop
        update entries set in_flight = in_flight - r.gone, host_faults = host_faults + r.lost
         where id = r.entry_id;
        perform entry_hasten_validation(r.entry_id, v_gone);
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

-- -------------------------------------------------------------------------------------------------
-- 9. Who may call
-- -------------------------------------------------------------------------------------------------
-- Postgres lets everybody execute a new function, so that right is revoked first.

revoke execute on function
    lease_machine(),
    lease_check_worker(text),
    lease_check_blobs(text[]),
    lease_check_words(jsonb, integer),
    lease_most_slots(),
    lease_register(jsonb),
    lease_alive(text),
    lease_fits(workers, matches),
    lease_wake(text, integer, double precision),
    lease_within_half(bigint),
    lease_slow_validation(),
    lease_may_take(workers, matches, timestamptz),
    lease_claim(text, text),
    lease_claim_next(text, text),
    lease_waiting(text, integer),
    lease_renew(text[], integer[]),
    lease_finish(text, integer, text, jsonb, jsonb, text, text, text),
    lease_judge(text, integer, text),
    lease_record(matches, jsonb, jsonb, text, text, text),
    lease_accept(matches),
    lease_count_scrim(text, integer, integer),
    lease_fail(text, integer, text, text, text, text),
    remote_unreachable(text, integer, text, jsonb),
    lease_reap(integer),
    lease_expire(integer),
    lease_void(text[], text, text),
    lease_requeue_or_void(text[], text, text, text, text, text)
from public, peck_worker;

grant execute on function
    lease_register(jsonb),
    lease_alive(text),
    lease_claim(text, text),
    lease_claim_next(text, text),
    lease_waiting(text, integer),
    lease_renew(text[], integer[]),
    lease_finish(text, integer, text, jsonb, jsonb, text, text, text),
    lease_fail(text, integer, text, text, text, text),
    remote_unreachable(text, integer, text, jsonb)
to peck_worker, peck_machine;
