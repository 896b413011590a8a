-- The medal rules of each version of the standings: a host may change the lines of a season later.

alter table standings add column medals jsonb;    -- as the season's at that time
