-- Remote agents: a submission may be an address of its owner's instead of a bundle. Its entry has the
-- profile 'remote'. One with three strikes is paused: it keeps its place on the board, is paired no
-- more, and is tried by validation matches until it answers or is given up.
alter table submissions add column url text;          -- of a remote one, for its owner; null: a bundle
alter table seasons add column remote_agents boolean not null default false;  -- whether they may enter

alter table entries drop constraint entries_state_check;
alter table entries add constraint entries_state_check
    check (state in ('pending', 'active', 'paused', 'rejected', 'retired'));
alter table entries add column strikes integer not null default 0;    -- rated matches it was away in
alter table entries add column struck_at timestamptz;                 -- the last time; it rests then
alter table entries add column answered integer not null default 0;   -- matches in a row since then
alter table entries add column paused_at timestamptz;                 -- null unless it is paused
alter table entries add column tries integer not null default 0;      -- by the house, since the pause
alter table entries add column next_try_at timestamptz;               -- null while a try is under way
alter table entries drop constraint entries_disqualified_from_check;
alter table entries add constraint entries_disqualified_from_check
    check (disqualified_from in ('pending', 'active', 'paused', 'retired'));
create index entries_paused on entries (id) where state = 'paused';
drop index entries_board;
create index entries_board on entries (season_id, mu desc, id) where state in ('active', 'paused');

-- Each time an entry was paused; what its team is told.
create table pauses (
    entry_id text not null references entries,
    paused_at timestamptz not null,
    reason text not null,
    validation_match_id text,             -- the one that had let it play until then
    ended_at timestamptz,
    outcome text check (outcome in ('active', 'retired')),
    primary key (entry_id, paused_at),
    constraint pauses_end check ((ended_at is null) = (outcome is null))
);

-- Whether the terms of a league tell of such seasons, and which of its members agreed to that.
alter table leagues add column remote_agents boolean not null default false;
alter table league_members add column agreed_remote boolean not null default false;

-- How long a paused entry waits for its next try, after so many.
create function remote_wait(p_tries integer) returns interval
language sql immutable as $$
    select case p_tries when 0 then interval '10 minutes' when 1 then interval '1 hour'
                        when 2 then interval '6 hours' else interval '24 hours' end
$$;

-- How long an entry that was struck is left alone: whoever restarts a server gets one strike for all
-- matches of that moment.
create function remote_rest() returns interval language sql immutable as $$
    select interval '1 minute'
$$;

-- Internal. An entry was away, or answered nothing; the third strike pauses it. The caller has locked
-- its season.
create function remote_strike(p_entry text, p_reason text) returns void
language plpgsql security definer set search_path = public, pg_temp as $$
declare
    v_now timestamptz := clock_timestamp();
    e entries;
begin
    -- Who stands on the board of a finished season stays there as it is.
    update entries set strikes = strikes + 1, struck_at = v_now, answered = 0,
                       reason = format('strike %s of 3: %s', strikes + 1, left(p_reason, 1000))
     where id = p_entry and state = 'active' and profile = 'remote'
       and (struck_at is null or struck_at <= v_now - remote_rest())
       and season_id not in (select id from seasons where state = 'finished')
    returning * into e;
    if not found or e.strikes < 3 then
        return;
    end if;
    update entries
       set state = 'paused', paused_at = v_now, tries = 0, next_try_at = v_now + remote_wait(0),
           reason = 'three strikes; the last: ' || left(p_reason, 1000)
     where id = p_entry;
    insert into pauses (entry_id, paused_at, reason, validation_match_id)
    values (p_entry, v_now, left(p_reason, 1000), e.validation_match_id);
    update seasons set revision = revision + 1 where id = e.season_id;
end $$;

-- A worker could not play a rated match because agents of others' machines were away: it is void,
-- and they get a strike. False: it no longer held the match.
create function remote_away(p_match text, p_attempt integer, p_worker text, p_reasons jsonb)
returns boolean
language plpgsql security definer set search_path = public, pg_temp as $$
declare
    m matches;
    v_seats text;
    r record;
begin
    select * into m from matches where id = p_match for update;
    if not found or m.state <> 'running' or m.attempt <> p_attempt or m.worker <> p_worker then
        return false;
    end if;
    if m.kind <> 'rated' then
        raise exception '% is no rated match: who is away in it loses it', p_match
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
    perform lease_drop(array[p_match], 'void', null,
                       'a remote agent was away, in seat ' || v_seats, true);
    for r in
        select entry_id, min(p_reasons ->> seat::text) as reason from seats
         where match_id = p_match and p_reasons ? seat::text
         group by entry_id order by entry_id
    loop
        perform remote_strike(r.entry_id, r.reason);
    end loop;
    return true;
end $$;

-- Internal. Takes matches, locked by the caller, out of a worker's hands or out of the queue: queued
-- again while attempts are left, else (or with p_void) void. Keeps every counter. Returns the void.
create or replace function lease_drop(
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
        -- An entry whose validation came to nothing is due at once: entries.expire sees to a pending
        -- one, remotes.try_due to one that is paused.
        update entries
           set in_flight = in_flight - r.gone, host_faults = host_faults + r.lost,
               deadline_at = case when state in ('pending', 'paused')
                                       and validation_match_id = any (v_gone)
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

-- 'accepted', or 'late' when another attempt holds the match or it is over: then nothing changes.
create or replace function lease_finish(
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
           max_move_seconds = r.max_move_seconds, log_digest = r.log_digest,
           statistics = r.statistics
      from jsonb_to_recordset(p_seats) as r(seat integer, placement integer,
           reward double precision, verdict text, reason text, failed_step integer,
           charged_seconds double precision, max_move_seconds double precision, log_digest text,
           statistics jsonb)
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
        perform remote_count(p_match, p_seats);
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

-- Internal. After a rated match: no answered move is a strike; ten matches in a row with one take a
-- strike away, and not fewer, or whoever knows a lineup could be away in two matches of three. The
-- caller has locked the season.
create function remote_count(p_match text, p_seats jsonb) returns void
language plpgsql security definer set search_path = public, pg_temp as $$
declare
    r record;
begin
    for r in
        select t.entry_id, bool_or(coalesce(s.answered, true)) as answered, min(t.reason) as reason
          from seats t join jsonb_to_recordset(p_seats) as s(seat integer, answered boolean)
            on s.seat = t.seat
         where t.match_id = p_match and t.profile = 'remote'
         group by t.entry_id order by t.entry_id
    loop
        if r.answered then
            update entries
               set answered = (answered + 1) % 10, strikes = strikes - (answered = 9)::integer,
                   reason = case when strikes > 1 or answered < 9 then reason end
             where id = r.entry_id and state = 'active' and strikes > 0;
        else
            perform remote_strike(r.entry_id, 'it answered none of its moves'
                                              || coalesce(': ' || r.reason, ''));
        end if;
    end loop;
end $$;

-- Internal. A validation result decides its entry: any seat at fault rejects one that is pending; one
-- that is paused was active before and is tried again later.
create or replace function lease_judge(m matches) returns void
language plpgsql security definer set search_path = public, pg_temp as $$
declare
    v_entry text;
    v_agent text;
    v_keep integer;
    v_round bigint;
    v_now timestamptz := clock_timestamp();
    v_reason text;
    t seats;
begin
    select entry_id, agent_id into v_entry, v_agent from seats where match_id = m.id and seat = 0;
    select * into t from seats where match_id = m.id and verdict <> 'DONE'
     order by failed_step nulls first, seat limit 1;
    if found then
        v_reason := t.verdict || coalesce(' at step ' || t.failed_step, '')
                 || coalesce(': ' || t.reason, '');
        update entries
           set state = case state when 'pending' then 'rejected' else state end,
               next_try_at = case state when 'paused' then v_now + remote_wait(tries) end,
               deadline_at = null, reason = v_reason
         where id = v_entry and state in ('pending', 'paused') and validation_match_id = m.id;
        return;
    end if;
    -- The board shows one more: its revision grows. The season is locked before the entry, so that
    -- the first round it plays is one that nobody has begun.
    update seasons set revision = revision + 1 where id = m.season_id
    returning active_limit, round into v_keep, v_round;
    if v_keep is not null then
        perform 1 from entries where season_id = m.season_id and agent_id = v_agent
            and (state = 'active' or id = v_entry) order by id for update;
    end if;
    update entries
       set state = 'active', deadline_at = null, reason = null, round = v_round, strikes = 0,
           struck_at = null, answered = 0, paused_at = null, tries = 0,
           activated_at = coalesce(activated_at, v_now)
     where id = v_entry and state in ('pending', 'paused') and validation_match_id = m.id;
    if not found then
        return;
    end if;
    if v_keep is not null then
        update entries
           set state = 'retired',
               reason = case when id = v_entry then 'newer submissions of its agent play instead' end
         where id in (
            select id from entries
             where season_id = m.season_id and agent_id = v_agent and state = 'active'
             order by activated_at desc, id desc offset v_keep);
    end if;
    update pauses
       set ended_at = v_now, outcome = (select state from entries where id = v_entry)
     where entry_id = v_entry and ended_at is null;
end $$;

revoke execute on function remote_wait(integer), remote_rest(), remote_strike(text, text),
    remote_away(text, integer, text, jsonb), remote_count(text, jsonb) from public;
grant execute on function remote_away(text, integer, text, jsonb) to peck_worker;
