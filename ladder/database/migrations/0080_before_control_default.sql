-- New pairs of second plays are no canaries, and nothing reads the column any more.
alter table machine_controls alter column is_canary set default false;
