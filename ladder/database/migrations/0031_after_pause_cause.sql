-- From now on every process gives the cause.

alter table entries add constraint entries_pause_cause_of_paused
    check ((state = 'paused') = (pause_cause is not null)) not valid;
