-- Filters of match lists read an agent's seats from an index alone; faults, and matches of a season
-- that are not rated, have indexes of their own.

create index seats_results on seats (agent_id, match_id)
    include (seat, placement, verdict, submission_id);
create index seats_faults on seats (agent_id, verdict, match_id) where verdict <> 'DONE';
create index matches_unrated on matches (season_id, id) where kind <> 'rated';
