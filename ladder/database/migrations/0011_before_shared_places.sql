-- Teams that share one place in a season, because a host found their entries to be equal.

create table shared_places (
    place text collate "C" not null references audits,  -- audit entry of the act
    season_id text not null references seasons,
    team_id text not null references teams,
    from_version bigint not null,         -- first version of the standings in which they share it
    until_version bigint,                 -- last one; null: they still share it
    primary key (place, team_id)
);
create index shared_places_season on shared_places (season_id);
create unique index shared_places_once on shared_places (season_id, team_id)
    where until_version is null;
