-- Machines that joined earlier get the limits of those that join now (ladder/machines/machines.py). Who may not
-- set the limit of temporary files leaves it to a superuser.
do $$
declare
    v_login text;
begin
    for v_login in
        select login from machines join pg_roles on rolname = login where revoked_at is null
    loop
        execute format('alter role %I set statement_timeout = ''20s''', v_login);
        execute format('alter role %I set idle_in_transaction_session_timeout = ''20s''', v_login);
        begin
            execute format('alter role %I set temp_file_limit = ''16MB''', v_login);
        exception when insufficient_privilege then
            null;
        end;
    end loop;
end $$;
