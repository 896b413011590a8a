-- Version of the rules that a season began with. Seasons that exist now, and those that the previous release
-- creates during the roll-out, keep the first ones (SECOND_RULES in ladder/leagues/records.py).

alter table seasons add column rules_version integer not null default 1;
