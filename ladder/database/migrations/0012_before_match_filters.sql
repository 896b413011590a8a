-- Filters of match lists that find few matches read an index of their own, and not all matches of a
-- season or of an agent.

create index matches_season_unrated on matches (season_id, kind, id) where kind <> 'rated';
create index matches_season_void on matches (season_id, id) where state = 'void';
create index seats_agent_faults on seats (agent_id, verdict, match_id) where verdict <> 'DONE';

-- Whether another seat of the match has the same placement; lease_finish writes it.
alter table seats add column is_shared boolean not null default false;
update seats t set is_shared = true
 where t.placement = 1 and exists (
     select 1 from seats x where x.match_id = t.match_id and x.seat <> t.seat and x.placement = 1);
create index seats_agent_shared on seats (agent_id, match_id) where is_shared and placement = 1;
