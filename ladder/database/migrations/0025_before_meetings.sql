-- Which agents meet in which match. A list of the matches of two agents reads this table in order,
-- and not all matches of both.

create table meetings (
    match_id text collate "C" not null,
    pair bytea not null                   -- pair_of both agents, in matches/matches.sql
);
insert into meetings
select distinct a.match_id,
       substr(sha256((least(a.agent_id collate "C", b.agent_id)
                      || greatest(a.agent_id collate "C", b.agent_id))::bytea), 1, 16)
  from seats a join seats b on b.match_id = a.match_id and b.seat > a.seat;
alter table meetings add primary key (pair, match_id);
-- Queries read the index alone where vacuum has marked the pages; rows are only added.
alter table meetings set (autovacuum_vacuum_insert_scale_factor = 0.02);
