-- Tournaments: their entrants, rounds, games, acts and show addresses. A game is a match of the kind
-- 'tournament'. ladder/tournaments/formats computes the course from these rows.

alter table matches drop constraint matches_kind_check;
alter table matches add constraint matches_kind_check
    check (kind in ('rated', 'validation', 'scrim', 'tournament'));

create table tournaments (
    id text primary key,
    league_id text not null references leagues,
    season_id text not null references seasons,   -- pins game, configuration, clock and images
    title text not null,
    description text not null default '',
    plan jsonb not null,                  -- ladder/tournaments/formats: Plan
    state text not null default 'draft' check (state in ('draft', 'registration', 'check_in',
        'locked', 'running', 'paused', 'finished', 'cancelled')),
    -- who plays
    entry_rule text not null default 'open' check (entry_rule in ('open', 'invitation', 'top')),
    most_entrants integer not null default 64 check (most_entrants between 2 and 1024),
    agents_per_team integer not null default 1 check (agents_per_team between 1 and 16),
    remote_agents boolean not null default false,
    away_minutes double precision not null default 5 check (away_minutes between 0 and 60),
    check_in_minutes double precision not null default 0 check (check_in_minutes between 0 and 1440),
    -- when
    locks_at timestamptz not null,        -- registration ends
    starts_at timestamptz not null,       -- first games, at the earliest
    round_minutes double precision not null default 60 check (round_minutes between 1 and 10080),
    resumes_at timestamptz,               -- end of a pause
    -- how it is shown
    embargo text not null default 'public'        -- of new games
        check (embargo in ('hidden', 'participants', 'public')),
    -- its course
    draw_seed bytea not null,             -- hidden until the end
    draw_digest text not null,            -- SHA-256 of the seed, shown from the start
    published jsonb not null default '{}',        -- rounds as they were paired
    position text not null default '1.1',         -- stage and round that is played
    is_due boolean not null default true, -- the scheduler has something to do although no game ended
    problem text,                         -- why the round cannot go on, and what a host can do
    champion integer,                     -- number of the entrant
    end_reason text,                      -- why it was cancelled
    created_by text references users,
    created_at timestamptz not null default now(),
    finished_at timestamptz
);
create index tournaments_league on tournaments (league_id, id);
create index tournaments_live on tournaments (id) where state not in ('finished', 'cancelled');

create table tournament_entrants (
    tournament_id text not null references tournaments,
    agent_id text not null references agents,
    team_id text not null references teams,
    state text not null default 'entered'
        check (state in ('invited', 'entered', 'left_out', 'withdrawn', 'disqualified')),
    checked_in_at timestamptz,
    -- frozen at the lock
    number integer,                       -- 1 is the best seed
    entry_id text references entries,
    submission_id text references submissions,
    profile text,
    score double precision,               -- official score in points; null: seeded by the draw
    deviation double precision,
    -- its end before the end
    last_position text,                   -- last stage and round that was paired with it
    reason text,                          -- of a disqualification, or why it was left out
    created_at timestamptz not null default now(),
    primary key (tournament_id, agent_id)
);
create unique index tournament_entrants_number on tournament_entrants (tournament_id, number);
create index tournament_entrants_agent on tournament_entrants (agent_id);
create index tournament_entrants_team on tournament_entrants (team_id);

create table tournament_rounds (
    tournament_id text not null references tournaments,
    position text not null,               -- stage and round, as in 1.2
    started_at timestamptz not null default now(),
    deadline_at timestamptz not null,
    finished_at timestamptz,
    primary key (tournament_id, position)
);

-- One match for one game of a pairing. A match without a result is replaced by a further row.
create table tournament_games (
    match_id text collate "C" primary key,
    tournament_id text not null references tournaments,
    pairing text not null,                -- stage, round and number, as in 1.2.3
    game integer not null,
    entrants integer[] not null,          -- numbers by seat
    try integer not null default 1,
    embargo text not null check (embargo in ('hidden', 'participants', 'public')),
    waits_until timestamptz,              -- until then a remote agent that is away does not lose
    is_rejudgement boolean not null default false,
    -- null: in play. counted: in the course. void: no result. proposed: of a rejudgement that no host
    -- has decided. replaced: a rejudgement counts instead. stale: its pairing is no longer played.
    outcome text check (outcome in ('counted', 'void', 'proposed', 'replaced', 'stale')),
    created_at timestamptz not null default now()
);
create index tournament_games_of on tournament_games (tournament_id, pairing, game);
create index tournament_games_open on tournament_games (tournament_id) where outcome is null;

-- What people and the scheduler did to a tournament, in order. Append-only.
create table tournament_acts (
    tournament_id text not null references tournaments,
    number integer not null,
    act text not null,
    agent_id text,
    details jsonb not null default '{}',
    by_user text references users,     -- null: the scheduler
    created_at timestamptz not null default clock_timestamp(),
    primary key (tournament_id, number)
);
