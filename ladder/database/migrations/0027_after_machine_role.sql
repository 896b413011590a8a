-- Machines that joined earlier were members of the role of the site's workers.
do $$
declare
    v_login text;
begin
    for v_login in
        select login from machines join pg_roles on rolname = login where revoked_at is null
    loop
        execute format('revoke peck_worker from %I', v_login);
    end loop;
end $$;
