-- Workers say which images their node plays with, so that the list of profiles can tell; and a bell
-- that the wrong node heard is rung again at once, since nodes differ in the profiles they have.
alter table workers add column image_digests jsonb not null default '{}';

create or replace function lease_register(p_worker jsonb) returns void
language plpgsql security definer set search_path = public, pg_temp as $$
begin
    insert into workers (id, host, node, queues, slots, profiles, gpu, speed_class, lacks,
                         image_digests)
    select h.id, h.host, h.node, h.queues, h.slots, h.profiles, h.gpu, h.speed_class, h.lacks,
           coalesce(h.image_digests, '{}')
      from jsonb_to_record(p_worker) as h(id text, host text, node text, queues text[],
           slots integer, profiles text[], gpu integer, speed_class text, lacks text[],
           image_digests jsonb)
    on conflict (id) do update
       set host = excluded.host, node = excluded.node, queues = excluded.queues,
           slots = excluded.slots, profiles = excluded.profiles, gpu = excluded.gpu,
           speed_class = excluded.speed_class, lacks = excluded.lacks,
           image_digests = excluded.image_digests, seen_at = clock_timestamp();
end $$;

-- The whole order, or null when there is nothing to do: not queued, past its deadline, not for
-- this node, or refused because this worker let it lapse and another live one serves the queue.
create or replace function lease_claim(p_match text, p_worker text) returns jsonb
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
    if not found or m.state <> 'queued' or m.deadline_at <= v_now then
        return null;
    end if;
    if not lease_fits(w, m)
       or m.refused_worker = p_worker and m.refused_until > v_now and exists (
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
