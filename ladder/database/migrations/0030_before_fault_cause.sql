alter table attempts add column fault_cause text,
    add constraint attempts_fault_cause_check
        check (fault_cause in ('no_box', 'slow_host')) not valid;
