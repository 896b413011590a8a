-- Whether an entrant was a reference agent at the lock; then it has no team-mates. False in tournaments
-- that an older version locked, and before the lock.

alter table tournament_entrants add column is_reference boolean not null default false;
