-- The role by which PgBouncer finds the passwords of machines, and of nobody else. Run as a superuser in the
-- database of the site; afterwards: \password peck_pooler
create role peck_pooler login;

create or replace function peck_machine_login(p_login text) returns table (name text, secret text)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
    select rolname::text, rolpassword from pg_authid
     where rolname = p_login and rolname like 'peck\_machine\_%' and rolcanlogin
$$;
revoke execute on function peck_machine_login(text) from public;
grant execute on function peck_machine_login(text) to peck_pooler;
