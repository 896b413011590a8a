-- Filters of match lists read an agent's seats from this index alone.

create index seats_results on seats (agent_id, match_id)
    include (seat, placement, verdict, submission_id);
