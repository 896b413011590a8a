-- Notifications about the feed. peck_news means that the feed may have a new item, or that a token
-- was revoked, which ends its streams. It only wakes a process.

-- Sends peck_news when the transaction commits, once for any number of statements.
create or replace function notify_news() returns trigger language plpgsql as $$
begin
    perform pg_notify('peck_news', '');
    return null;
end $$;

revoke execute on function notify_news() from public, peck_worker;

create or replace trigger seasons_notify after update of revision, official_version, state
    on seasons for each statement execute function notify_news();
create or replace trigger entries_notify after update of state on entries
    for each statement execute function notify_news();
create or replace trigger scrims_notify after update of state on scrims
    for each statement execute function notify_news();
create or replace trigger scrim_requests_notify after insert or update of state on scrim_requests
    for each statement execute function notify_news();
create or replace trigger comparisons_notify after update of state on comparisons
    for each statement execute function notify_news();
create or replace trigger unsealed_medals_notify after insert on unsealed_medals
    for each statement execute function notify_news();
create or replace trigger tokens_notify after update of revoked_at on tokens
    for each statement execute function notify_news();
