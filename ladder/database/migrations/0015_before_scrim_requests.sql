-- Agents say with whom they scrim, teams ask each other for scrims, a scrim says who sees it, and a
-- batch holds many scrims.

-- Whom an agent plays in scrims. Without a row, agents.open_for_scrims says it as before.
create table scrim_policies (
    agent_id text primary key references agents on delete cascade,
    whom text not null check (whom in ('nobody', 'league', 'teams', 'anyone')),
    team_ids text[] not null default '{}',          -- for 'teams'
    blocked_team_ids text[] not null default '{}',
    rating_within double precision check (rating_within > 0),  -- points between the ratings; null: any
    games_daily integer check (games_daily >= 0),   -- with all other teams in a UTC day; null: no limit
    cooldown_seconds integer not null default 0 check (cooldown_seconds between 0 and 2592000),
    from_minute integer check (from_minute between 0 and 1439),  -- of the UTC day; null: at any time
    until_minute integer check (until_minute between 0 and 1439),
    accepts_automatically boolean not null,
    changed_at timestamptz not null default now(),
    constraint scrim_policies_hours check ((from_minute is null) = (until_minute is null))
);

alter table seasons add column scrim_games_daily integer not null default 500
    check (scrim_games_daily between 0 and 10000);   -- scrim games that a team may request in a UTC day

-- Many scrims with one id: one agent against many, or own versions against each other.
create table scrim_batches (
    id text collate "C" primary key,
    season_id text not null references seasons,
    team_id text not null references teams,
    requested_by text not null references users,
    kind text not null check (kind in ('gauntlet', 'versions')),
    games_each integer not null check (games_each between 1 and 20),
    created_at timestamptz not null default now(),
    ended_at timestamptz                  -- null: a scrim of it is running
);
create index scrim_batches_team on scrim_batches (team_id, id);

-- Who sees a scrim is fixed when it is made (scrims/scrims.sql). Scrims made before are private.
alter table scrims
    add column side_team_ids text[] not null default '{}',      -- teams with an agent in it
    add column result_audience text not null default 'asker'
        check (result_audience in ('asker', 'sides', 'league')),
    add column replay_audience text not null default 'asker'
        check (replay_audience in ('asker', 'sides', 'league')),
    add column log_audience text not null default 'own'
        check (log_audience in ('own', 'sides', 'league')),
    add column is_members_only boolean not null default false,  -- the league was not public then
    add column batch_id text references scrim_batches;
create index scrims_created on scrims (created_at);
create index scrims_batch on scrims (batch_id, id) where batch_id is not null;
create index scrims_sides on scrims using gin (side_team_ids) where result_audience <> 'asker';

-- One team asks another for a scrim.
create table scrim_requests (
    id text collate "C" primary key,
    season_id text not null references seasons,
    team_id text not null references teams,
    asked_team_id text not null references teams,
    requested_by text not null references users,
    wanted jsonb not null,                -- by seat: agents, and submissions of the team that asks
    games integer not null check (games between 1 and 100),
    seeds text[] not null default '{}',   -- 32 hex digits a game; empty: drawn when it is accepted
    result_audience text not null check (result_audience in ('asker', 'sides', 'league')),
    replay_audience text not null check (replay_audience in ('asker', 'sides', 'league')),
    log_audience text not null check (log_audience in ('own', 'sides', 'league')),
    is_members_only boolean not null,
    words text not null default '',       -- of the team that asks
    state text not null default 'asked'
        check (state in ('asked', 'accepted', 'declined', 'withdrawn', 'expired')),
    created_at timestamptz not null default now(),
    expires_at timestamptz not null,
    answered_at timestamptz,
    answered_by text references users,
    answer text not null default '',      -- of the team that was asked
    scrim_id text references scrims,
    constraint scrim_requests_end check ((state = 'asked') = (answered_at is null)),
    constraint scrim_requests_scrim check ((state = 'accepted') = (scrim_id is not null))
);
create unique index scrim_requests_open on scrim_requests (team_id, asked_team_id, season_id)
    where state = 'asked';
create index scrim_requests_due on scrim_requests (expires_at) where state = 'asked';
create index scrim_requests_outbox on scrim_requests (team_id, id);
create index scrim_requests_inbox on scrim_requests (asked_team_id, id);
create index scrim_requests_scrim on scrim_requests (scrim_id) where scrim_id is not null;
