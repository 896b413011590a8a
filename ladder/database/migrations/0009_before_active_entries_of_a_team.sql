-- A season limits the active entries of a team, over all its agents. Seasons made before have no limit.

alter table seasons add column team_active_limit integer
    check (team_active_limit between 1 and 100);
