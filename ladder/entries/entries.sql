-- -------------------------------------------------------------------------------------------------
-- Times and reasons of remote entries
-- -------------------------------------------------------------------------------------------------
-- The third strike pauses an entry; it keeps its rank and is not paired. The
-- matches of the first three strikes are void. Beyond that an unanswered match is a loss, also after a
-- pause, and pauses the entry again.

-- Returns the wait of a paused entry before its next validation match, after p_tries tries.
create or replace function remote_retry_delay(p_tries integer) returns interval
language sql immutable as $$
    select case p_tries when 0 then interval '10 minutes' when 1 then interval '1 hour'
                        when 2 then interval '6 hours' else interval '24 hours' end
$$;

-- Returns the time of the next try after a failed one. It does not move the end of a pause, because a team
-- could keep a lucky score by failed tries.
create or replace function remote_next_try(p_paused_at timestamptz, p_tries integer)
returns timestamptz
language sql stable as $$
    select greatest(clock_timestamp(), p_paused_at + remote_retry_delay(p_tries))
$$;

-- Returns the most matches in flight of a remote entry. One whose strikes are used up gets a single one,
-- because it may be away again.
create or replace function remote_most_in_flight(p_strikes integer) returns integer
language sql immutable as $$
    select case when p_strikes < 3 then 4 else 1 end
$$;

-- Returns the reason of an entry that plays again after a pause.
create or replace function remote_loss_reason() returns text language sql immutable as $$
    select 'after three strikes an unanswered match is a loss'
$$;

-- Returns the time after a strike without another one. So a restart of a server costs one strike.
create or replace function remote_rest_period() returns interval language sql immutable as $$
    select interval '1 minute'
$$;

-- -------------------------------------------------------------------------------------------------
-- The life of an entry
-- -------------------------------------------------------------------------------------------------
-- These functions and those of strikes make every change of an entry's state and of the columns that
-- go with it: reason, pause, tries, deadline of the validation, disqualification. A test shows that no
-- other file writes them. The caller decides whether the change is allowed. It has locked the season
-- and then the entry, and counts the season's revision.

-- Names the validation match that a pending or paused entry waits for.
create or replace function entry_await_validation(p_entry text, p_match text, p_seconds double precision)
returns void language sql security definer set search_path = public, pg_temp as $$
    update entries
       set validation_match_id = p_match, validations = validations + 1, next_try_at = null,
           deadline_at = clock_timestamp() + make_interval(secs => p_seconds)
     where id = p_entry
$$;

-- Lets an entry whose validation match is void be handled at once: expire_pending handles pending
-- entries, retry_due_entries paused ones.
create or replace function entry_hasten_validation(p_entry text, p_void text[]) returns void
language sql security definer set search_path = public, pg_temp as $$
    update entries set deadline_at = clock_timestamp()
     where id = p_entry and state in ('pending', 'paused') and validation_match_id = any (p_void)
$$;

-- Makes a rejected entry pending again. Returns false if another request has done so.
create or replace function entry_revive(p_entry text, p_taken_day date) returns boolean
language plpgsql security definer set search_path = public, pg_temp as $$
begin
    update entries set state = 'pending', reason = null, validations = 0, taken_day = p_taken_day
     where id = p_entry and state = 'rejected';
    return found;
end $$;

-- Rejects a pending entry. A free upload does not count against the daily limit.
create or replace function entry_reject(p_entry text, p_reason text, p_is_free boolean, p_match text)
returns void language plpgsql security definer set search_path = public, pg_temp as $$
declare
    e entries;
begin
    select * into e from entries where id = p_entry and state = 'pending' for update;
    if not found then
        return;
    end if;
    update entries
       set state = 'rejected', deadline_at = null, reason = p_reason,
           taken_day = case when not p_is_free then taken_day end
     where id = p_entry;
    if p_is_free then
        update daily_uploads set used = used - 1
         where season_id = e.season_id and team_id = e.team_id and day = e.taken_day and used > 0;
    end if;
    perform notices_record('validation_failed',
        jsonb_strip_nulls(jsonb_build_object('entry_id', p_entry, 'match_id', p_match)));
end $$;

-- Makes an entry active that passed this validation match, and returns it. A paused entry keeps its
-- strikes. Its first round is one that nobody has begun,
-- since the caller has locked the season.
create or replace function entry_activate(p_entry text, p_match text, p_warning text)
returns setof entries language plpgsql security definer set search_path = public, pg_temp as $$
declare
    v_active entries;
begin
    update entries e
       set state = 'active', deadline_at = null, round = s.round, struck_at = null, answered = 0,
           pause_cause = null, paused_at = null, tries = 0,
           reason = coalesce(p_warning, case when strikes > 0 then remote_loss_reason() end),
           activated_at = coalesce(activated_at, clock_timestamp())
      from seasons s
     where e.id = p_entry and e.state in ('pending', 'paused') and e.validation_match_id = p_match
       and s.id = e.season_id
    returning e.* into v_active;
    if found then
        update pauses set ended_at = clock_timestamp(), outcome = 'active'
         where entry_id = p_entry and ended_at is null;
        return next v_active;
    end if;
end $$;

-- Pauses an active entry.
create or replace function entry_pause(p_entry text, p_cause text, p_reason text,
                                       p_next_try_at timestamptz) returns void
language sql security definer set search_path = public, pg_temp as $$
    update entries
       set state = 'paused', pause_cause = p_cause, paused_at = clock_timestamp(),
           next_try_at = p_next_try_at, reason = p_reason
     where id = p_entry and state = 'active'
$$;

-- Ends a pause without a validation. After a pause for strikes an unanswered match is a loss and pauses
-- the entry again. Otherwise an entry could keep a lucky score by being away.
create or replace function entry_resume(p_entry text) returns void
language sql security definer set search_path = public, pg_temp as $$
    update pauses set ended_at = clock_timestamp(), outcome = 'active'
     where entry_id = p_entry and ended_at is null;
    update entries
       set state = 'active', pause_cause = null, paused_at = null, next_try_at = null,
           struck_at = case when pause_cause = 'team_blocked' then struck_at end,
           answered = case when pause_cause = 'team_blocked' then answered
                           else least(answered, 0) end,
           reason = case when pause_cause = 'unreachable' then remote_loss_reason() end
     where id = p_entry and state = 'paused'
$$;

-- Counts a try of a paused entry; the next waits grow.
create or replace function entry_count_try(p_entry text) returns void
language sql security definer set search_path = public, pg_temp as $$
    update entries set tries = tries + 1 where id = p_entry
$$;

-- Ends a try that failed or was not played in time.
create or replace function entry_fail_try(p_entry text, p_reason text) returns void
language sql security definer set search_path = public, pg_temp as $$
    update entries
       set deadline_at = null, next_try_at = remote_next_try(paused_at, tries),
           reason = coalesce(p_reason, reason)
     where id = p_entry and state = 'paused'
$$;

-- Puts the next try off while the season plays no matches; there is none after its end.
create or replace function entry_delay_try(p_entry text) returns void
language sql security definer set search_path = public, pg_temp as $$
    update entries e
       set deadline_at = null,
           next_try_at = case when s.state <> 'finished'
                              then clock_timestamp() + remote_retry_delay(e.tries) end
      from seasons s where e.id = p_entry and s.id = e.season_id
$$;

-- Retires entries for good and returns those that changed. Without a reason a paused entry keeps its own.
create or replace function entry_retire(p_entries text[], p_reason text) returns setof entries
language plpgsql security definer set search_path = public, pg_temp as $$
begin
    update pauses set ended_at = clock_timestamp(), outcome = 'retired'
     where entry_id = any (p_entries) and ended_at is null;
    return query
    update entries
       set state = 'retired', deadline_at = null, next_try_at = null, pause_cause = null,
           paused_at = null, reason = coalesce(p_reason, case when state = 'paused' then reason end)
     where id = any (p_entries) and state in ('pending', 'active', 'paused')
    returning *;
end $$;

-- Retires an entry until it is reinstated. After a pause because its team was blocked it was active:
-- it is paused again if the block still holds.
create or replace function entry_disqualify(p_entry text, p_reason text) returns void
language sql security definer set search_path = public, pg_temp as $$
    update entries
       set state = 'retired', deadline_at = null, next_try_at = null, pause_cause = null,
           paused_at = null, disqualified_at = now(), reason = p_reason,
           disqualified_from = case when pause_cause = 'team_blocked' then 'active' else state end
     where id = p_entry
$$;

-- Undoes a disqualification. An entry above its agent's or team's limit stays retired, and so does one
-- whose team has ended during the season. A paused entry gets its full time to answer, since it was
-- not tried while disqualified.
create or replace function entry_reinstate(p_entry text) returns void
language plpgsql security definer set search_path = public, pg_temp as $$
declare
    e entries;
    s seasons;
    v_state text;
begin
    select * into e from entries where id = p_entry;
    select * into s from seasons where id = e.season_id;
    v_state := e.disqualified_from;
    if s.state <> 'finished' and exists (
           select 1 from teams where id = e.team_id and ended_at is not null)
       or v_state = 'active' and (
           select count(*) from entries o where o.season_id = s.id and o.agent_id = e.agent_id
              and o.state = 'active') >= s.active_limit
       or v_state = 'active' and not e.is_anchor and (
           select count(*) from entries o where o.season_id = s.id and o.team_id = e.team_id
              and o.state = 'active' and not o.is_anchor) >= s.team_active_limit then
        v_state := 'retired';
    end if;
    update entries
       set state = v_state, disqualified_at = null, disqualified_from = null, reason = null, tries = 0,
           deadline_at = case v_state when 'pending' then now() end,
           next_try_at = case v_state when 'paused' then now() end,
           pause_cause = case v_state when 'paused' then 'unreachable' end,
           paused_at = case v_state when 'paused' then now() end
     where id = p_entry;
end $$;

-- -------------------------------------------------------------------------------------------------
-- Counting of strikes
-- -------------------------------------------------------------------------------------------------
-- Internal. Gives an entry a strike because it was unreachable or answered nothing. The caller has
-- locked its season.
create or replace function remote_strike(p_entry text, p_reason text) returns void
language plpgsql security definer set search_path = public, pg_temp as $$
declare
    v_now timestamptz := clock_timestamp();
    e entries;
begin
    -- The leaderboard of a finished season does not change any more.
    update entries set tries = case when strikes < 3 then 0 else tries end,
                       strikes = least(strikes + 1, 3), struck_at = v_now,
                       answered = least(answered, 0),
                       reason = format('strike %s of 3: %s', least(strikes + 1, 3),
                                       left(p_reason, 1000))
     where id = p_entry and state = 'active' and profile = 'remote'
       and (struck_at is null or struck_at <= v_now - remote_rest_period())
       and season_id not in (select id from seasons where state = 'finished')
    returning * into e;
    if not found or e.strikes < 3 then
        return;
    end if;
    perform entry_pause(p_entry, 'unreachable', 'three strikes; the last: ' || left(p_reason, 1000),
                        v_now + remote_retry_delay(e.tries));
    insert into pauses (entry_id, paused_at, reason, validation_match_id)
    values (p_entry, v_now, left(p_reason, 1000), e.validation_match_id);
    update seasons set revision = revision + 1 where id = e.season_id;
    perform notices_record('agent_paused', jsonb_build_object('entry_id', p_entry));
end $$;

-- Internal. Counts a void match during the rest or the pause of an entry: ten more answered matches are needed
-- before a strike goes. Otherwise one strike would void as many matches as the entry has in flight.
create or replace function remote_count_void(p_entry text) returns void
language sql security definer set search_path = public, pg_temp as $$
    update entries e set answered = least(answered, 0) - 10
      from seasons s
     where e.id = p_entry and e.profile = 'remote' and e.state in ('active', 'paused')
       and (e.state = 'paused' or e.struck_at > clock_timestamp() - remote_rest_period())
       and s.id = e.season_id and s.state <> 'finished'
$$;

-- Internal. Counts a rated match for its remote entries. A match without an answered move is a strike.
-- Ten answered matches in a row remove one; fewer would let owners skip matches they dislike. The
-- caller has locked the season.
create or replace function remote_count_answers(p_match text, p_seats jsonb) returns void
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
               set answered = case answered when 9 then 0 else answered + 1 end,
                   strikes = strikes - (answered = 9)::integer,
                   reason = case when strikes > 1 or answered < 9 then reason end
             where id = r.entry_id and state = 'active' and strikes > 0;
        else
            perform remote_strike(r.entry_id, 'it answered none of its moves'
                                              || coalesce(': ' || r.reason, ''));
        end if;
    end loop;
end $$;

-- Returns the number of a submission among those of its agent; 1 is the first.
create or replace function submission_version(p_agent text, p_number bigint) returns integer
language sql stable as $$
    select count(*)::integer from submissions where agent_id = p_agent and number <= p_number
$$;

-- Decides an entry by its validation result. If a seat failed, a pending entry is
-- rejected and a paused one is tried again later. An upload whose bundle was refused does not count
-- against the daily limit; for example, it has no main.py.
--
-- Otherwise the entry becomes active. If a seat got a warning, the reason of the entry is that warning.
-- The oldest entries on the board above the agent's limit retire, then those above the team's limit.
-- Paused and declared entries retire too, because otherwise a team could upload often and keep its
-- luckiest entry. A paused entry keeps its strikes.
create or replace function entry_decide(m matches) returns void
language plpgsql security definer set search_path = public, pg_temp as $$
declare
    v_entry text;
    v_agent text;
    v_team text;
    v_keep integer;
    v_team_keep integer;
    v_reason text;
    v_was text;
    e entries;
    t seats;
begin
    select entry_id, agent_id into v_entry, v_agent from seats where match_id = m.id and seat = 0;
    select * into t from seats where match_id = m.id and verdict <> 'DONE'
     order by failed_step nulls first, seat limit 1;
    if found then
        v_reason := t.verdict || coalesce(' at step ' || t.failed_step, '')
                 || coalesce(': ' || t.reason, '');
        select * into e from entries
         where id = v_entry and state in ('pending', 'paused') and validation_match_id = m.id
           for update;
        if e.state = 'paused' then
            perform entry_fail_try(v_entry, v_reason);
        elsif e.state = 'pending' then
            if t.bundle_refused and e.taken_day is not null then
                v_reason := v_reason ||
                    '; the upload does not count against the daily limit, so correct it and send it again';
            end if;
            perform entry_reject(v_entry, v_reason, coalesce(t.bundle_refused, false), m.id);
        end if;
        return;
    end if;
    -- The leaderboard gains an entry, so its revision grows. The season is locked before the entry.
    update seasons set revision = revision + 1 where id = m.season_id
    returning active_limit, team_active_limit into v_keep, v_team_keep;
    -- A merge may have moved the entry to another team since the match was made.
    select team_id into v_team from entries where id = v_entry;
    if v_keep is not null or v_team_keep is not null then
        perform 1 from entries where season_id = m.season_id and team_id = v_team
            and (state in ('active', 'paused') or id = v_entry) order by id for update;
    end if;
    select state into v_was from entries where id = v_entry for update;
    select reason into v_reason from seats where match_id = m.id and reason is not null
     order by seat limit 1;
    select * into e from entry_activate(v_entry, m.id, v_reason);
    if not found then
        return;
    end if;
    if not e.is_anchor then
        perform notices_record(
            case v_was when 'paused' then 'agent_resumed' else 'validation_passed' end,
            jsonb_build_object('entry_id', v_entry, 'match_id', m.id));
    end if;
    if v_keep is not null then
        perform entry_retire(array(
            select id from entries
             where season_id = m.season_id and agent_id = v_agent
               and state in ('active', 'paused')
             order by activated_at desc, id desc offset v_keep),
            'newer submissions of its agent play instead');
    end if;
    if v_team_keep is not null then
        for e in
            select * from entry_retire(array(
                select id from entries
                 where season_id = m.season_id and team_id = v_team and not is_anchor
                   and state in ('active', 'paused')
                 order by activated_at desc, id desc offset v_team_keep),
                'newer submissions of its team play instead')
        loop
            if e.agent_id <> v_agent then  -- a team does not expect it, unlike a newer version
                perform notices_record('agent_retired', jsonb_build_object('entry_id', e.id));
            end if;
        end loop;
    end if;
end $$;

-- Postgres lets everybody execute a new function, so that right is revoked. Workers call none of these.
revoke execute on function
    entry_await_validation(text, text, double precision),
    entry_hasten_validation(text, text[]),
    entry_revive(text, date),
    entry_reject(text, text, boolean, text),
    entry_activate(text, text, text),
    entry_decide(matches),
    entry_pause(text, text, text, timestamptz),
    entry_resume(text),
    entry_count_try(text),
    entry_fail_try(text, text),
    entry_delay_try(text),
    entry_retire(text[], text),
    entry_disqualify(text, text),
    entry_reinstate(text),
    remote_retry_delay(integer),
    remote_next_try(timestamptz, integer),
    remote_most_in_flight(integer),
    remote_loss_reason(),
    remote_rest_period(),
    remote_count_void(text),
    remote_strike(text, text),
    remote_count_answers(text, jsonb),
    submission_version(text, bigint)
from public, peck_worker;
