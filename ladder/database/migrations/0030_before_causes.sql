-- Causes, each from a fixed set of values, by which the code decides. The texts beside them are for
-- people. Each table has a file of its own, so that no lock is held while another one is awaited. No
-- row is read.

alter table matches add column void_cause text,
    add constraint matches_void_cause_check check (void_cause in (
        'agent_unreachable', 'attempts_used_up', 'overdue', 'called_off', 'entry_left',
        'not_needed')) not valid;
