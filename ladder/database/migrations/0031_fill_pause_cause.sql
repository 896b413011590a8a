-- Entries that pause from now on get a cause from the trigger entries_pause_cause.

update entries set pause_cause = case
    when reason = 'all people of its team are blocked; ask an administrator' then 'team_blocked'
    else 'unreachable' end
 where state = 'paused' and pause_cause is null;
