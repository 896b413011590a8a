-- Filters of match lists: a fault of an agent, and matches of a season that are not rated.

create index seats_faults on seats (agent_id, verdict, match_id) where verdict <> 'DONE';
create index matches_unrated on matches (season_id, id) where kind <> 'rated';
