-- Reads all rows while others read and write them.

alter table matches validate constraint matches_void_cause_check;
alter table attempts validate constraint attempts_fault_cause_check;
