-- Who earns a medal: {"kind": "table"} is Kaggle's, the others are in ladder/medals.py.
alter table seasons add column medals jsonb not null default '{"kind": "table"}';
alter table seasons add column medal_confidence double precision not null default 0.95
    check (medal_confidence >= 0.5 and medal_confidence <= 0.99);
alter table seasons add column medal_teams integer;   -- that medals go by, kept once uploads locked
alter table seasons add column is_sealed boolean not null default false;  -- every medal there is
alter table seasons add column final_version bigint;  -- the cold fit at the end; null until it is made
alter table standings add column teams integer;       -- that its medals went by

-- A medal that a team keeps from this standing on, whatever the games still to come say: it has this
-- class or a better one with the season's confidence. Only an audited act takes it back.
create table sealed_medals (
    season_id text not null references seasons,
    team_id text not null references teams,
    version bigint not null,              -- of the standings, that sealed it
    medal text not null check (medal in ('gold', 'silver', 'bronze')),
    chance double precision not null,     -- of this class or a better one, by that version
    sealed_at timestamptz not null default now(),
    primary key (season_id, team_id, version),
    foreign key (season_id, version) references standings
);
create trigger sealed_medals_kept before update or delete on sealed_medals for each row
    execute function refuse_change('sealed_medals');

create table unsealed_medals (
    season_id text not null,
    team_id text not null,
    version bigint not null,
    audit_id text collate "C" not null references audits,
    unsealed_at timestamptz not null default now(),
    primary key (season_id, team_id, version),
    foreign key (season_id, team_id, version) references sealed_medals
);
create trigger unsealed_medals_kept before update or delete on unsealed_medals for each row
    execute function refuse_change('unsealed_medals');

-- The entry a team wants to stand by; without one it stands by its best.
create table declared_entries (
    season_id text not null references seasons,
    team_id text not null references teams,
    entry_id text not null unique references entries,
    declared_by text references users,
    declared_at timestamptz not null default now(),
    primary key (season_id, team_id)
);

-- The finals end when every medal is sealed, or at the season's date if that comes first.
alter table seasons add column stops_when_sealed boolean not null default false;
