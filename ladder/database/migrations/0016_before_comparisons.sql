-- Comparisons of two versions of an agent: pairs of unrated matches until a verdict.

create table comparisons (
    id text primary key,
    season_id text not null references seasons,   -- whose game, configuration and clock are used
    team_id text not null references teams,
    requested_by text not null references users,
    old_submission_id text not null references submissions,
    new_submission_id text not null references submissions,
    opponents jsonb not null,             -- submission ids; they stay the same until the end
    margin double precision not null,
    most_pairs integer not null,
    variants integer not null,
    seed bytea not null,                  -- all seats, opponents and seeds are drawn from it
    state text not null default 'running' check (state in ('running', 'finished', 'cancelled')),
    verdict text check (verdict in ('better', 'not_better', 'cannot_tell')),
    ended_by text check (ended_by in ('bounds', 'pairs', 'deadline', 'host_faults')),
    waits_until timestamptz,              -- no games are asked for until then: a limit is used up, or an opponent refuses
    replayed_pairs integer not null default 0,
    created_at timestamptz not null default now(),
    deadline_at timestamptz not null,     -- without a verdict then, it cannot tell
    finished_at timestamptz,
    check ((state = 'finished') = (verdict is not null))
);
create index comparisons_team on comparisons (team_id, id);
create index comparisons_running on comparisons (id) where state = 'running';

create table comparison_pairs (
    comparison_id text not null references comparisons,
    number integer not null,              -- pairs count in this order, not in the order they end
    old_match_id text not null,
    new_match_id text not null,
    replays integer not null default 0,   -- how often a host's fault made it be played again
    difference double precision,          -- null until the pair counts
    low double precision,                 -- the bounds after this pair
    high double precision,
    primary key (comparison_id, number)
);

-- Each game of a comparison is a scrim.
alter table scrims add column comparison_id text references comparisons;
create index scrims_comparison on scrims (comparison_id) where comparison_id is not null;
