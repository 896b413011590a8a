-- Which matches a machine may play. lease.sql asks here before it wakes a machine or lets it claim.
--
-- A trusted machine plays everything. Others are checked. They play rated matches and scrims of public
-- leagues in which the owners of all agents let any machine run them. They play first attempts only, so
-- what failed elsewhere and what is judged again is left to trusted machines. No machine plays a bundle
-- of a season in which its own owner competes.
--
-- A scrim without a row in scrims is the second play of a match of a checked machine (checks.py).
-- Trusted machines alone play it.

-- Internal. Whether checked machines may play this waiting match.
create or replace function lease_is_open(m matches) returns boolean
language sql stable set search_path = public, pg_temp as $$
    select m.attempt = 0 and m.rejudges is null
       and (m.kind = 'rated' or m.kind = 'scrim' and m.scrim_id is not null)
       and exists (select 1 from seasons s join leagues l on l.id = s.league_id
                    where s.id = m.season_id and l.visibility = 'public')
       and not exists (select 1 from forks where scrim_id = m.scrim_id)
       and coalesce((select bool_and(a.machines = 'any')
                       from seats t join agents a on a.id = t.agent_id where t.match_id = m.id), false)
$$;

-- Internal. Whether this machine may play this waiting match. Null is a worker of the site itself.
create or replace function lease_allows(p_machine text, m matches) returns boolean
language plpgsql stable set search_path = public, pg_temp as $$
declare
    x machines;
begin
    if p_machine is null then
        return true;
    end if;
    select * into x from machines
     where id = p_machine and drained_at is null and quarantined_at is null and revoked_at is null;
    if not found or x.tier = 'checked' and not lease_is_open(m) then
        return false;
    end if;
    if x.owner_id is null then
        return true;
    end if;
    return not exists (
        select 1 from season_competitors where season_id = m.season_id and user_id = x.owner_id
    ) and not exists (
        select 1 from seats t
          join entries e on e.agent_id = t.agent_id
           and e.submission_id = t.submission_id and not e.is_anchor
          join season_competitors c on c.season_id = e.season_id and c.user_id = x.owner_id
         where t.match_id = m.id);
end $$;

-- The queue of messages for the machine of this login: null for a login of the site and for a trusted
-- machine, which serve the queues of matches.
create or replace function lease_own_queue() returns text
language plpgsql stable security definer set search_path = public, pg_temp as $$
begin
    return (select 'open' from machines where id = lease_machine() and tier <> 'trusted');
end $$;

-- Picks queued matches that a checked machine may play, for messages in the queue 'open'. Such
-- machines take messages from this queue alone. Otherwise as lease_wake. Looks at the first 1,000 matches.
create or replace function lease_wake_open(p_limit integer, p_again_seconds double precision)
returns setof text
language plpgsql security definer set search_path = public, pg_temp as $$
declare
    v_now timestamptz := clock_timestamp();
    v_old timestamptz := v_now - make_interval(secs => p_again_seconds);
    v_out integer;
begin
    select count(*) into v_out from matches
     where state = 'queued' and woken_on = 'open' and woken_at > v_old;
    return query
    with waiting as (
        select id from matches
         where state = 'queued' and queue in ('play.cpu', 'play.gpu', 'scrim')
         order by turn, id limit 1000
    ), due as (
        select m.id from matches m join waiting on waiting.id = m.id
         where m.state = 'queued' and m.deadline_at > v_now
           and (m.woken_at is null or m.woken_at <= v_old) and lease_is_open(m)
           and exists (select 1 from workers w
                        where w.live_until > v_now and 'open' = any (w.queues)
                          and lease_fits(w, m) and lease_allows(w.machine_id, m))
         order by m.turn, m.id limit greatest(p_limit - v_out, 0)
           for update of m skip locked
    ), woken as (
        update matches m set woken_at = v_now, woken_on = 'open' from due where m.id = due.id
        returning m.id, m.turn
    )
    select id from woken order by turn, id;
end $$;

revoke execute on function
    lease_is_open(matches),
    lease_allows(text, matches),
    lease_own_queue(),
    lease_wake_open(integer, double precision)
from public, peck_worker;

grant execute on function lease_own_queue() to peck_worker, peck_machine;
