-- Notifications about matches. They only wake a process, which then reads the rows.
--
--   peck_work      matches wait for a message, or a worker registered; wakes the scheduler
--                  (lease_claim, lease_finish and lease_requeue_or_void send it too)
--   peck_finished  a match has a result; the payload is its id (lease_finish)
--   peck_void      a match is void; the payload is its id (lease_requeue_or_void)

-- Sends peck_work when the transaction commits, once for any number of statements.
create or replace function notify_work() returns trigger language plpgsql as $$
begin
    perform pg_notify('peck_work', '');
    return null;
end $$;

revoke execute on function notify_work() from public, peck_worker;

create or replace trigger matches_notify after insert on matches for each statement
    execute function notify_work();
create or replace trigger workers_notify after insert or update of queues on workers
    for each statement execute function notify_work();

-- Which agents meet: the table meetings has a row for each pair of agents of a match.

-- Names a pair of agents; their order makes no difference.
create or replace function pair_of(one text, other text) returns bytea
language sql immutable parallel safe as $$
    select substr(sha256((least(one collate "C", other) || greatest(one collate "C", other))::bytea),
                  1, 16)
$$;

-- Adds the pairs of new seats. A statement inserts all seats of its matches.
create or replace function add_meetings() returns trigger language plpgsql as $$
begin
    insert into meetings (match_id, pair)
    select a.match_id, pair_of(a.agent_id, t.agent_id)
      from added a join added t on t.match_id = a.match_id and t.seat < a.seat
    on conflict do nothing;
    return null;
end $$;

revoke execute on function pair_of(text, text), add_meetings() from public, peck_worker;

create or replace trigger seats_meet after insert on seats referencing new table as added
    for each statement execute function add_meetings();
