-- Reads all rows while others read and write them.

alter table entries validate constraint entries_pause_cause_check;
alter table entries validate constraint entries_pause_cause_of_paused;
