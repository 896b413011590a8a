-- A rated match that is the first of an entry goes before other matches.
alter table matches add column goes_first boolean not null default false;
create index matches_go_first on matches (turn, id) where goes_first and state in ('queued', 'running');
