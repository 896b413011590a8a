-- How interesting finished matches are to watch, and matches that hosts pinned to the top of a league.

create table match_interest (
    match_id text primary key,
    season_id text not null references seasons (id),
    league_id text not null references leagues (id),
    finished_at timestamptz not null,
    upset real not null,         -- chance, before the match, that the others would beat the winner
    lead_changes integer not null,
    closeness real not null,     -- 1: the best two were equal near the end
    steps integer not null,
    score real not null
);
create index match_interest_day on match_interest (league_id, finished_at);
create index match_interest_all on match_interest (finished_at);
create index match_interest_season on match_interest (season_id, finished_at);

create table pinned_matches (
    league_id text not null references leagues (id),
    match_id text not null,
    pinned_by text references users (id) on delete set null,
    pinned_at timestamptz not null default now(),
    primary key (league_id, match_id)
);
