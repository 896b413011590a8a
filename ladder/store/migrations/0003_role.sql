-- The workers' role: it may play matches and nothing else. It cannot log in until
-- db.set_worker_login says how.
do $$
begin
    if not exists (select 1 from pg_roles where rolname = 'peck_worker') then
        create role peck_worker nologin;
    end if;
exception
    when duplicate_object or unique_violation then
        null;  -- another database of this server was migrated at the same moment
    when insufficient_privilege then
        raise exception 'the role peck_worker is missing and this login may not create roles'
            using hint = 'as an administrator of the server: create role peck_worker';
end $$;

-- Functions are executable by everybody unless told otherwise.
revoke execute on all functions in schema public from public;
grant execute on function
    lease_register(jsonb),
    lease_see(text),
    lease_claim(text, text),
    lease_renew(text[], integer[]),
    lease_finish(text, integer, text, jsonb, jsonb, text, text, text),
    lease_fail(text, integer, text, text, text)
to peck_worker;
