-- Refuses rows that a deleted account would still write: a request may have begun before the deletion,
-- and an upload may take minutes. The row of the person or team is locked, so that the deletion waits
-- for such a row, or the row for the deletion. Error code PK003.
--
-- Arguments: the table that has erased_at, and the column that names its row.
create or replace function refuse_erased() returns trigger language plpgsql as $$
declare
    v_owner text := to_jsonb(new) ->> tg_argv[1];
    v_erased timestamptz;
begin
    if v_owner is null or current_setting('peck.erasing', true) = 'on' then
        return new;
    end if;
    if tg_argv[0] = 'users' then
        select erased_at into v_erased from users where id = v_owner for key share;
    else
        select erased_at into v_erased from teams where id = v_owner for key share;
    end if;
    if v_erased is not null then
        raise exception 'the account was deleted' using errcode = 'PK003';
    end if;
    return new;
end $$;

revoke execute on function refuse_erased() from public, peck_worker;

create or replace trigger submissions_of_erased before insert or update of message on submissions
    for each row execute function refuse_erased('users', 'created_by');
create or replace trigger sessions_of_erased before insert on sessions
    for each row execute function refuse_erased('users', 'user_id');
create or replace trigger tokens_of_erased before insert on tokens
    for each row execute function refuse_erased('users', 'user_id');
create or replace trigger leagues_of_erased before insert on leagues
    for each row execute function refuse_erased('users', 'created_by');
create or replace trigger members_of_erased before insert on league_members
    for each row execute function refuse_erased('users', 'user_id');
create or replace trigger audits_of_erased before insert on audits
    for each row execute function refuse_erased('users', 'by_user');
create or replace trigger answers_of_erased before insert on idempotency_keys
    for each row execute function refuse_erased('users', 'user_id');
create or replace trigger memberships_of_erased before insert on memberships
    for each row execute function refuse_erased('users', 'user_id');
create or replace trigger memberships_in_erased before insert on memberships
    for each row execute function refuse_erased('teams', 'team_id');
create or replace trigger agents_of_erased before insert or update of name, slug on agents
    for each row execute function refuse_erased('teams', 'team_id');
create or replace trigger entries_of_erased before insert on entries
    for each row execute function refuse_erased('teams', 'team_id');
