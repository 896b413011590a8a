-- The role whose members are the logins of machines. It may execute what workers may. Nobody logs in as it: a
-- member of a role may change that role's password and end its sessions.
do $$
begin
    if not exists (select 1 from pg_roles where rolname = 'peck_machine') then
        create role peck_machine nologin;
    end if;
exception
    when duplicate_object or unique_violation then
        null;  -- another database of this server was migrated at the same moment
    when insufficient_privilege then
        raise exception 'the role peck_machine is missing and this login may not create roles'
            using hint = 'as an administrator of the server: create role peck_machine';
end $$;

do $$
declare
    v_login text;
begin
    for v_login in
        select login from machines join pg_roles on rolname = login where revoked_at is null
    loop
        execute format('grant peck_machine to %I', v_login);
    end loop;
end $$;
