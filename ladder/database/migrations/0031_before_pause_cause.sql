-- Why an entry is paused (PauseCause in ladder/entries/records.py); null unless it is paused.

alter table entries add column pause_cause text,
    add constraint entries_pause_cause_check
        check (pause_cause in ('unreachable', 'team_blocked')) not valid;
