-- Machines that joined earlier get the limits of those that join now (ladder/machines/machines.py). A role that
-- another one made stays as it is, and a warning names the statement for a superuser.
do $$
declare
    v_statement text;
begin
    for v_statement in
        select format('alter role %I set %s', login, setting)
          from machines join pg_roles on rolname = login
         cross join unnest(array[
             'statement_timeout = ''20s''',
             'idle_in_transaction_session_timeout = ''20s''',
             'temp_file_limit = ''16MB''']) as setting
         where revoked_at is null
    loop
        begin
            execute v_statement;
        exception when insufficient_privilege then
            raise warning 'a limit of a machine is not set; run as a superuser: %', v_statement;
        end;
    end loop;
end $$;
