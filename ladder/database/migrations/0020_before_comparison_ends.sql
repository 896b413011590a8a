-- A comparison ends when an opponent no longer plays in the season.
alter table comparisons drop constraint comparisons_ended_by_check;
alter table comparisons add constraint comparisons_ended_by_check
    check (ended_by in ('bounds', 'pairs', 'deadline', 'host_faults', 'opponent_gone'));
