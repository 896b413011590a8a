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
