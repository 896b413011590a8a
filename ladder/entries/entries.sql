-- An entry that is no longer paused has no cause of a pause. The site of the previous release
-- pauses entries without a cause, with one of two reasons.
create or replace function keep_pause_cause() returns trigger language plpgsql as $$
begin
    new.pause_cause := case
        when new.state <> 'paused' then null
        when new.reason = 'all people of its team are blocked; ask an administrator' then 'team_blocked'
        else 'unreachable' end;
    return new;
end $$;

create or replace trigger entries_pause_cause before update of state on entries for each row
    when ((new.state = 'paused') <> (new.pause_cause is not null))
    execute function keep_pause_cause();

-- Strikes of remote entries. The third strike pauses an entry; it keeps its rank and is not paired. The
-- matches of the first three strikes are void. Beyond that an unanswered match is a loss, also after a
-- pause, and pauses the entry again. In a season of the first rules a pause clears the strikes.

-- Returns the wait of a paused entry before its next validation match, after p_tries tries.
create or replace function remote_retry_delay(p_tries integer) returns interval
language sql immutable as $$
    select case p_tries when 0 then interval '10 minutes' when 1 then interval '1 hour'
                        when 2 then interval '6 hours' else interval '24 hours' end
$$;

-- Returns the time of the next try after a failed one. It does not move the end of a pause, because a team
-- could keep a lucky score by failed tries. By the first rules the wait begins again.
create or replace function remote_next_try(p_season text, p_paused_at timestamptz, p_tries integer)
returns timestamptz
language sql stable as $$
    select case when rules_version >= 2
                then greatest(clock_timestamp(), p_paused_at + remote_retry_delay(p_tries))
                else clock_timestamp() + remote_retry_delay(p_tries) end
      from seasons where id = p_season
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
    update entries
       set state = 'paused', pause_cause = 'unreachable', paused_at = v_now,
           next_try_at = v_now + remote_retry_delay(tries),
           reason = 'three strikes; the last: ' || left(p_reason, 1000)
     where id = p_entry;
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
       and s.id = e.season_id and s.rules_version >= 2 and s.state <> 'finished'
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

-- Postgres lets everybody execute a new function, so that right is revoked. Workers call none of these.
revoke execute on function
    keep_pause_cause(),
    remote_retry_delay(integer),
    remote_next_try(text, timestamptz, integer),
    remote_most_in_flight(integer),
    remote_loss_reason(),
    remote_rest_period(),
    remote_count_void(text),
    remote_strike(text, text),
    remote_count_answers(text, jsonb),
    submission_version(text, bigint)
from public, peck_worker;
