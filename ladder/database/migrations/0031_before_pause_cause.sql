-- Why an entry is paused (PauseCause in ladder/entries/records.py); null unless it is paused.

alter table entries add column pause_cause text
    check (pause_cause in ('unreachable', 'team_blocked'));
update entries set pause_cause = case
    when reason = 'all people of its team are blocked; ask an administrator' then 'team_blocked'
    else 'unreachable' end
 where state = 'paused';
