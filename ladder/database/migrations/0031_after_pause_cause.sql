-- From now on every process gives the cause. Entries that were paused while the migration before
-- ran have none.

update entries set pause_cause = case
    when reason = 'all people of its team are blocked; ask an administrator' then 'team_blocked'
    else 'unreachable' end
 where state = 'paused' and pause_cause is null;
update entries set pause_cause = null where state <> 'paused' and pause_cause is not null;
alter table entries add constraint entries_pause_cause_of_paused
    check ((state = 'paused') = (pause_cause is not null));
