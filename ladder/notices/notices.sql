-- Notices: writing an event and telling its people, looking up names, and sending.
--
-- Postgres holds the truth. A message to the notifier only wakes it. A delivery may reach its
-- receiver twice, with the same id; it is never lost before its deadline.

-- -------------------------------------------------------------------------------------------------
-- 1. An event happens
-- -------------------------------------------------------------------------------------------------

-- Internal. A new id, as ladder/ids.py makes them: a prefix, the time and random bits. Of the 80
-- random bits, ten hold the microseconds. Ids of one connection ascend, as a list of notices needs
-- them, even if the clock stands still or goes back.
create or replace function notices_new_id(p_prefix text) returns text
language plpgsql volatile set search_path = public, pg_temp as $$
declare
    v_us bigint := greatest(floor(extract(epoch from clock_timestamp()) * 1000000)::bigint,
        nullif(current_setting('notices.last_us', true), '')::bigint + 1);
    v_time bigint := ((v_us / 1000) << 10) | (v_us % 1000);
    v_chance bytea := sha256(uuid_send(gen_random_uuid()));
begin
    perform set_config('notices.last_us', v_us::text, false);
    return p_prefix || '_' || (
        select string_agg(substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + case
                   when i < 12 then ((v_time >> (55 - 5 * i)) & 31)::integer
                   else get_byte(v_chance, i) & 31 end, 1), '' order by i)
          from generate_series(0, 25) i);
end $$;

-- Whether a person still belongs to those whom an event of this kind tells, and no administrator
-- blocked the account. Asked again whenever a notice is shown or sent.
create or replace function notices_may_see(p_user text, e notice_events) returns boolean
language sql stable set search_path = public, pg_temp as $$
    select not exists (select 1 from user_blocks b where b.user_id = p_user) and case k.audience
        when 'person' then k.kind not like 'join\_%' or e.league_id is null
             or exists (select 1 from leagues l where l.id = e.league_id
                and (l.visibility = 'public' or l.takes_requests
                     or exists (select 1 from league_members m
                        where m.league_id = l.id and m.user_id = p_user)))
        when 'hosts' then exists (select 1 from league_members m where m.league_id = e.league_id
                                     and m.user_id = p_user
                                     and coalesce(m.duty, m.role) in ('host', 'co-host'))
        else (k.audience = 'members' or exists (select 1 from memberships m
                   where m.team_id = e.team_id and m.user_id = p_user))
         and (e.league_id is null or exists (select 1 from leagues l where l.id = e.league_id
                and (l.visibility = 'public' or exists (select 1 from league_members m
                        where m.league_id = l.id and m.user_id = p_user))))
        end
      from notice_kinds k where k.kind = e.kind
$$;

-- Writes an event and the notices of its people, in the transaction of the act. p_about has columns
-- of notice_events. An entry gives its agent, team and season; a season gives its league.
create or replace function notices_record(p_kind text, p_about jsonb) returns text
language plpgsql security definer set search_path = public, pg_temp as $$
declare
    e notice_events;
    k notice_kinds;
    v_shown notice_kinds;                 -- the kind of the notice: that of the event or what gathers it
    v_now timestamptz := clock_timestamp();
    v_due timestamptz := v_now;
    v_key text;
begin
    select * into k from notice_kinds where kind = p_kind;
    if not found then
        raise exception 'notices/kinds.sql has no kind %', p_kind;
    end if;
    e := jsonb_populate_record(null::notice_events, p_about);
    e.id := notices_new_id('nev');
    e.kind := p_kind;
    e.created_at := v_now;
    e.details := coalesce(e.details, '{}');
    if e.entry_id is not null then
        select agent_id, team_id, season_id into e.agent_id, e.team_id, e.season_id
          from entries where id = e.entry_id;
    end if;
    if e.season_id is not null then
        select league_id into e.league_id from seasons where id = e.season_id;
    end if;
    insert into notice_events select e.*;

    select * into v_shown from notice_kinds where kind = coalesce(k.gathers_in, k.kind);
    if k.gathers_in is not null then      -- one notice for each ten minutes of the clock
        v_due := to_timestamp((floor(extract(epoch from v_now) / 600) + 1) * 600);
        v_key := e.league_id || '.' || extract(epoch from v_due)::bigint;
    end if;
    with people as (
        select user_id from memberships where k.audience = 'team' and team_id = e.team_id
        union select user_id from league_members
               where league_id = e.league_id and (k.audience = 'members'
                     or k.audience = 'hosts' and coalesce(duty, role) in ('host', 'co-host'))
        union select m.user_id from seasons s join entries n on n.season_id = s.id
                join memberships m on m.team_id = n.team_id
               where k.audience = 'members' and s.league_id = e.league_id
        union select e.user_id where k.audience = 'person' and e.user_id is not null
    ), wanted as (
        select p.user_id, f.form, c.id as channel_id, c.form = 'mail' as is_mail, c.mail_minutes
          from people p
          join users u on u.id = p.user_id and u.erased_at is null
          left join notice_channels c on c.user_id = p.user_id and c.state = 'on'
          cross join lateral (values ('page'), (c.form)) f(form)
          left join notice_preferences w
                 on w.user_id = p.user_id and w.topic = v_shown.topic and w.form = f.form
         where coalesce(w.is_on, f.form = any (v_shown.default_forms))
           and (k.audience = 'person' or p.user_id is distinct from e.user_id)
    ), made as (
        insert into notices as n (id, user_id, event_id, kind, counts, gather_key, is_on_page,
                                  created_at)
        select notices_new_id('not'), user_id, e.id, v_shown.kind,
               case when v_key is null then '{}' else jsonb_build_object(p_kind, 1) end, v_key,
               bool_or(form = 'page'), v_now
          from wanted group by user_id order by user_id  -- one order of locks for all
        on conflict (user_id, gather_key) do update
           set events = n.events + 1, read_at = null, counts = jsonb_set(n.counts, array[p_kind],
                   to_jsonb(coalesce((n.counts ->> p_kind)::integer, 0) + 1))
        returning n.id, n.user_id, n.events
    )
    insert into notice_deliveries (id, channel_id, notice_id, next_at, deadline_at, created_at)
    select notices_new_id('ndl'), w.channel_id, m.id, s.next_at,
           s.next_at + interval '24 hours', v_now
      from made m join wanted w on w.user_id = m.user_id and w.form <> 'page'
      cross join lateral (select case when w.is_mail then coalesce(
              (select min(d.next_at) from notice_deliveries d
                where d.channel_id = w.channel_id and d.state = 'waiting' and d.attempts = 0),
              v_due + make_interval(mins => w.mail_minutes)) else v_due end as next_at) s
     where m.events = 1;
    if found then
        perform pg_notify('peck_work', '');
    end if;
    return e.id;
end $$;

-- -------------------------------------------------------------------------------------------------
-- 2. It is shown
-- -------------------------------------------------------------------------------------------------

-- Internal. What an event is about, with the present names.
create or replace function notices_event_view(e notice_events) returns jsonb
language sql stable set search_path = public, pg_temp as $$
    select jsonb_build_object('event_kind', e.kind, 'league_id', l.id, 'league_slug', l.slug,
               'league_title', l.title, 'season_number', s.number, 'team_id', e.team_id,
               'team_slug', t.slug, 'team_name', t.name, 'agent_id', a.id, 'agent_name', a.name,
               'entry_id', n.id, 'reason', case when n.state <> 'active' then left(n.reason, 600) end,
               'match_id', e.match_id, 'scrim_id', e.scrim_id,
               'person_name', case when u.erased_at is null then u.name end,
               'details', e.details, 'asker_name', qt.name, 'asked_name', qa.name,
               'tournament_title', c.title, 'opponent_name', o.name)
      from (values (1)) as one
      left join leagues l on l.id = e.league_id
      left join seasons s on s.id = e.season_id
      left join teams t on t.id = e.team_id
      left join agents a on a.id = e.agent_id
      left join entries n on n.id = e.entry_id
      left join users u on u.id = e.user_id
      left join scrim_requests q on q.id = e.details ->> 'request'
      left join teams qt on qt.id = q.team_id
      left join teams qa on qa.id = q.asked_team_id
      left join tournaments c on c.id = e.details ->> 'tournament'
      left join agents o on o.id = e.details ->> 'opponent'
$$;

-- Notices as JSON with the present names, in the order of the ids. Leaves out those that their
-- person may no longer see.
create or replace function notices_view(p_ids text[]) returns setof jsonb
language sql stable security definer set search_path = public, pg_temp as $$
    select jsonb_build_object('id', n.id, 'kind', n.kind, 'created_at', n.created_at,
               'read_at', n.read_at, 'events', n.events, 'counts', n.counts)
           || notices_event_view(e)
      from unnest(p_ids) with ordinality as wanted(id, place)
      join notices n on n.id = wanted.id join notice_events e on e.id = n.event_id
     where notices_may_see(n.user_id, e)
     order by wanted.place
$$;

-- -------------------------------------------------------------------------------------------------
-- 3. It is sent
-- -------------------------------------------------------------------------------------------------

-- Internal. How soon calls of a channel are expected to end: quick, new or slow. New and slow ones
-- get few places, so that they delay nobody else.
create or replace function notices_pace(c notice_channels) returns text
language sql immutable as $$
    select case when c.failures > 0 or c.last_call_seconds >= 2 then 'slow'
                when c.has_succeeded then 'quick' else 'new' end
$$;

-- Channels that are due for a wake-up message, marked as woken. A message that stays unanswered for
-- some seconds is sent again.
create or replace function notices_wake(p_limit integer, p_wake_seconds double precision)
returns setof text
language sql security definer set search_path = public, pg_temp as $$
    update notice_channels set woken_at = clock_timestamp() where id in (
        select c.id from notice_channels c
          join (select channel_id, min(next_at) as next_at from notice_deliveries
                 where state = 'waiting' and next_at <= clock_timestamp() group by channel_id) d
            on d.channel_id = c.id
         where c.state = 'on' and coalesce(c.retry_at <= clock_timestamp(), true)
           and coalesce(c.lease_until <= clock_timestamp(), true)
           and coalesce(c.woken_at < greatest(d.next_at, c.retry_at)
                  or c.woken_at < clock_timestamp() - make_interval(secs => p_wake_seconds), true)
         order by c.woken_at nulls first, c.id limit p_limit for update of c skip locked)
    returning id
$$;

-- Gives a worker the channel that has waited longest, with what is due to it: one delivery, or all
-- for a mail. Null: nothing can be sent now. At most four calls at a time go to one host, and at
-- most p_slow to slow or failing receivers, and twice as many to new ones.
create or replace function notices_claim(
    p_worker text, p_lease_seconds double precision, p_slow integer
) returns jsonb
language plpgsql security definer set search_path = public, pg_temp as $$
declare
    v_now timestamptz;
    v_busy text[];                        -- paces whose places are taken
    c notice_channels;
    v_ids text[];
    v_deliveries jsonb;
begin
    perform pg_advisory_xact_lock(x'6e6f7469'::integer);  -- "noti": claims see each other
    v_now := clock_timestamp();
    select coalesce(array_agg(pace), '{}') into v_busy from (
        select notices_pace(o), count(*) from notice_channels o
         where o.lease_until > v_now and notices_pace(o) <> 'quick'
         group by 1) as taken(pace, calls)
     where calls >= p_slow * case pace when 'new' then 2 else 1 end;
    select o.* into c from notice_channels o
     where o.state = 'on' and coalesce(o.retry_at <= v_now, true)
       and coalesce(o.lease_until <= v_now, true)
       and notices_pace(o) <> all (v_busy)
       and exists (select 1 from notice_deliveries d where d.channel_id = o.id
                      and d.state = 'waiting' and d.next_at <= v_now)
       and (select count(*) from notice_channels h
             where h.host = o.host and h.lease_until > v_now) < 4
     order by o.served_at nulls first, o.id limit 1 for update skip locked;
    if not found then
        return null;
    end if;
    select array_agg(id order by id) into v_ids from (
        select id from notice_deliveries where channel_id = c.id and state = 'waiting'
           and next_at <= v_now order by next_at, id
         limit case c.form when 'mail' then 50 else 1 end) as due;
    if v_ids is null then                 -- they ended meanwhile
        return null;
    end if;
    update notice_channels
       set worker = p_worker, lease_until = v_now + make_interval(
               secs => p_lease_seconds * case c.form when 'mail' then 4 else 1 end),
           served_at = v_now
     where id = c.id;
    update notice_deliveries set attempts = attempts + 1 where id = any (v_ids);
    select jsonb_agg(jsonb_build_object('id', d.id, 'attempt', d.attempts, 'at', d.created_at,
               'is_test', d.notice_id is null,
               'notice', (select v from notices_view(array[d.notice_id]) v)) order by d.id)
      into v_deliveries from notice_deliveries d where d.id = any (v_ids);
    if c.form = 'mail' then               -- empty: the person has no proven address any more
        c.address := coalesce((select address from mail_addresses where user_id = c.user_id), '');
    end if;
    return jsonb_build_object('channel_id', c.id, 'form', c.form, 'address', c.address,
               'secret', c.secret, 'deliveries', v_deliveries);
end $$;

-- Ends an attempt at deliveries of one channel and gives the channel back. p_result has state
-- (sent, failed, gone, limited, dropped), seconds, and optionally status, problem, excerpt and
-- wait_seconds. Deliveries of an attempt that lost its channel stay as they are. Returns whether
-- the channel was switched off.
create or replace function notices_finish(
    p_channel text, p_worker text, p_ids text[], p_result jsonb
) returns boolean
language plpgsql security definer set search_path = public, pg_temp as $$
declare
    v_now timestamptz := clock_timestamp();
    v_state text := p_result ->> 'state';
    v_wait interval;
    c notice_channels;
begin
    select * into c from notice_channels where id = p_channel and worker = p_worker for update;
    if not found then
        return false;
    end if;
    c.last_call_seconds := coalesce((p_result ->> 'seconds')::real, 0);
    c.off_reason := null;
    if v_state = 'sent' then
        c.failures := 0;
        c.retry_at := null;
        c.has_succeeded := true;
    elsif v_state = 'limited' then        -- the receiver asks for a pause, which is no failure
        c.retry_at := v_now + make_interval(secs =>
            least(3600, greatest(1, coalesce((p_result ->> 'wait_seconds')::double precision, 30))));
    elsif v_state in ('failed', 'gone') then
        c.failures := c.failures + 1;
        -- 30 s, then twice as long each time, at most 4 hours
        v_wait := make_interval(secs => least(14400, 30 * 2 ^ (c.failures - 1)));
        c.retry_at := v_now + v_wait;
        if v_state = 'gone' or c.failures >= 10 then
            c.off_reason := case v_state when 'gone' then 'gone' else 'failures' end;
        end if;
    end if;
    update notice_channels
       set worker = null, lease_until = null, last_call_seconds = c.last_call_seconds,
           failures = c.failures, retry_at = c.retry_at, has_succeeded = c.has_succeeded,
           state = case when c.off_reason is null then state else 'off' end,
           off_reason = coalesce(c.off_reason, off_reason)
     where id = p_channel;
    update notice_deliveries
       set status = (p_result ->> 'status')::integer, problem = left(p_result ->> 'problem', 500),
           excerpt = left(p_result ->> 'excerpt', 500),
           next_at = coalesce(c.retry_at, next_at),
           state = case when v_state in ('sent', 'dropped') then v_state
                        when c.off_reason is not null or notice_id is null
                          or deadline_at <= coalesce(c.retry_at, v_now) then 'failed'
                        else state end,
           ended_at = case when v_state in ('sent', 'dropped') or c.off_reason is not null
                          or notice_id is null or deadline_at <= coalesce(c.retry_at, v_now)
                          then v_now end
     where id = any (p_ids) and channel_id = p_channel and state = 'waiting';
    if c.off_reason is not null then
        perform notices_fail_waiting(p_channel, 'the channel was switched off');
        perform notices_record('channel_off', jsonb_build_object('user_id', c.user_id,
            'details', jsonb_build_object('form', c.form, 'why', c.off_reason)));
    end if;
    return c.off_reason is not null;
end $$;

-- Internal. Ends the waiting deliveries of a channel as failed.
create or replace function notices_fail_waiting(p_channel text, p_problem text) returns void
language sql security definer set search_path = public, pg_temp as $$
    update notice_deliveries
       set state = 'failed', ended_at = clock_timestamp(), problem = coalesce(problem, p_problem)
     where channel_id = p_channel and state = 'waiting'
$$;

-- -------------------------------------------------------------------------------------------------
-- 4. Who may call
-- -------------------------------------------------------------------------------------------------
-- Postgres lets everybody execute a new function, so that right is revoked first.

revoke execute on function
    notices_new_id(text),
    notices_may_see(text, notice_events),
    notices_record(text, jsonb),
    notices_view(text[]),
    notices_event_view(notice_events),
    notices_pace(notice_channels),
    notices_wake(integer, double precision),
    notices_claim(text, double precision, integer),
    notices_finish(text, text, text[], jsonb),
    notices_fail_waiting(text, text)
from public, peck_worker, peck_notifier;

grant execute on function
    notices_claim(text, double precision, integer),
    notices_finish(text, text, text[], jsonb)
to peck_notifier;
