-- The log names matches by ids that compare byte by byte, as every other table does: a join over them
-- finds its index. What was withdrawn is found without reading what was not.
alter table acceptances alter column match_id type text collate "C";
create index acceptances_withdrawn on acceptances (season_id, no) where act = 'withdraw';
