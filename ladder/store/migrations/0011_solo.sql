-- Seasons for one seat: nobody is met, so they rank by what the game says of each episode. Rounds have
-- common seeds: round n has one, derived from the season's secret, and every active entry plays it.
alter table seasons add column measures jsonb;        -- ladder/solo.py, first counts first; null: rated
alter table seasons add column secret bytea not null  -- nobody is shown it; the rounds' seeds come from it
    default sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()));
alter table seasons add column round bigint not null default 0;   -- the last that was begun
alter table entries add column round bigint not null default 0;   -- the last that it has, or came after
alter table entries add column totals jsonb not null default '{}';  -- maintained, as mu is: by measure
alter table seats add column statistics jsonb;        -- written once, by finish

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

-- Internal. A validation result decides its pending entry: any seat at fault rejects it.
create or replace function lease_judge(m matches) returns void
language plpgsql security definer set search_path = public, pg_temp as $$
declare
    v_entry text;
    v_agent text;
    v_keep integer;
    v_round bigint;
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
    -- The board shows one more: its revision grows. The season is locked before the entry, so that
    -- the first round it plays is one that nobody has begun.
    update seasons set revision = revision + 1 where id = m.season_id
    returning active_limit, round into v_keep, v_round;
    if v_keep is not null then
        perform 1 from entries where season_id = m.season_id and agent_id = v_agent
            and (state = 'active' or id = v_entry) order by id for update;
    end if;
    update entries
       set state = 'active', deadline_at = null, reason = null, activated_at = clock_timestamp(),
           round = v_round
     where id = v_entry and state = 'pending' and validation_match_id = m.id;
    if found and v_keep is not null then
        update entries set state = 'retired' where id in (
            select id from entries
             where season_id = m.season_id and agent_id = v_agent and state = 'active'
             order by activated_at desc, id desc offset v_keep);
    end if;
end $$;
