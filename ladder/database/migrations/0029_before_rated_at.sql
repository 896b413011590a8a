-- The home page shows the leagues with the latest results first.

alter table seasons add column rated_at timestamptz;
update seasons set rated_at = official_at;
