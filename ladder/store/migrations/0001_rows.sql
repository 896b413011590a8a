-- Rows of the contest. Ids are text with a type prefix and sort by creation (ladder/ids.py), so the
-- large tables are partitioned by range of id and the id alone stays their key. The partition keys
-- compare byte by byte (collate "C"), as the ids are built.

-- People. Names live only here: erasing a person leaves results under the team's pseudonym.
create table users (
    id text primary key,
    name text not null,
    is_admin boolean not null default false,
    created_at timestamptz not null default now(),
    erased_at timestamptz
);
create unique index users_name on users (lower(name)) where erased_at is null;

create table teams (
    id text primary key,
    slug text not null unique,
    name text not null,
    created_by text references users,
    created_at timestamptz not null default now()
);

create table memberships (
    team_id text not null references teams,
    user_id text not null references users,
    is_owner boolean not null default false,
    created_at timestamptz not null default now(),
    primary key (team_id, user_id)
);
create index memberships_user on memberships (user_id);

create table tokens (
    id text primary key,
    user_id text not null references users,
    label text not null,
    hash bytea not null unique,          -- SHA-256 of the whole token; the token itself is never stored
    scopes text[] not null,
    created_at timestamptz not null default now(),
    expires_at timestamptz,
    revoked_at timestamptz
);
create index tokens_user on tokens (user_id);

-- A league is a standing contest; who may see it and its replays is decided here.
create table leagues (
    id text primary key,
    slug text not null unique,
    title text not null,
    description text not null default '',
    game text not null,
    visibility text not null default 'public' check (visibility in ('public', 'private')),
    replay_visibility text not null default 'public'
        check (replay_visibility in ('public', 'members', 'own', 'after_close')),
    state text not null default 'open' check (state in ('open', 'paused', 'closed')),
    same_team_lineups boolean not null default false,  -- tiny leagues may lift "one entry of a team in a lineup"
    created_by text references users,
    created_at timestamptz not null default now()
);

create table league_members (
    league_id text not null references leagues,
    user_id text not null references users,
    role text not null check (role in ('host', 'competitor', 'viewer')),
    created_at timestamptz not null default now(),
    primary key (league_id, user_id)
);
create index league_members_user on league_members (user_id);

-- A season pins everything a result depends on. Changing any of it is a new season.
create table seasons (
    id text primary key,
    league_id text not null references leagues,
    number integer not null,
    game text not null,
    configuration jsonb not null,
    configuration_digest text not null,
    clock jsonb not null,                 -- sandbox/clock.py: act_seconds, bank_seconds, load, load_seconds
    seats integer not null check (seats between 1 and 16),
    cpus real not null default 1,
    memory_mb integer not null default 1024,
    max_bundle_bytes bigint not null default 104857600,
    profile_images jsonb not null default '{}',   -- profile -> image digest, once pinned
    speed_class text not null default 'any',
    daily_limit integer not null default 5 check (daily_limit >= 0),
    active_limit integer,                 -- active entries per agent; null: all stay active
    mu0 double precision not null default 600,
    sigma0 double precision not null default 200,
    beta double precision not null default 150,
    tau double precision not null default 0,
    draw_probability double precision not null default 0.05,
    fault_rule text not null default 'own_seat' check (fault_rule in ('own_seat', 'kaggle')),
    score_offset double precision not null default 0,
    max_attempts integer not null default 3,
    lease_seconds real not null default 15,
    queue_seconds real not null default 3600,     -- a queued match older than this is void
    cadence_seconds real not null default 60,     -- a finished match is expected at least this often
    max_in_flight integer not null default 64,
    opens_at timestamptz not null default now(),
    closes_at timestamptz,                -- uploads lock
    ends_at timestamptz,                  -- pairing stops
    state text not null default 'open' check (state in ('open', 'locked', 'finished')),
    accepted_no bigint not null default 0,        -- last number of the acceptance log; no gaps
    rated_no bigint not null default 0,           -- the rater has folded the log up to here
    revision bigint not null default 0,           -- grows whenever something shown on the board changed
    created_at timestamptz not null default now(),
    unique (league_id, number)
);

create table agents (
    id text primary key,
    team_id text not null references teams,
    slug text not null,
    name text not null,
    open_for_scrims boolean not null default false,
    scrims_per_requester_daily integer not null default 50,
    created_at timestamptz not null default now(),
    unique (team_id, slug)
);

create table submissions (
    id text primary key,
    number bigint generated always as identity unique,   -- the integer of Kaggle's formats; grants nothing
    agent_id text not null references agents,
    digest text not null,                 -- SHA-256 of the bytes = the bundle's name in the blob store
    size_bytes bigint not null,
    filename text not null,
    message text not null default '',
    created_by text references users,
    created_at timestamptz not null default now(),
    unique (agent_id, digest)             -- idempotent per agent only; nobody learns of equal files elsewhere
);

-- A submission enters a season through an entry; validation, rating and activation hang on it.
create table entries (
    id text primary key,
    season_id text not null references seasons,
    agent_id text not null references agents,
    team_id text not null references teams,
    submission_id text not null references submissions,
    parent_entry_id text references entries,
    profile text not null default 'numpy',
    state text not null default 'pending' check (state in ('pending', 'active', 'rejected', 'retired')),
    reason text,                          -- why it was rejected, one sentence
    is_anchor boolean not null default false,
    pairing_weight real not null default 1 check (pairing_weight >= 0),
    validation_match_id text,
    validations integer not null default 0,   -- validation matches made so far; ours to repeat, up to 3
    taken_day date,                       -- day whose upload count it took; null: took none or given back
    deadline_at timestamptz,              -- pending must be over by then; the scheduler sees to it
    -- maintained columns: the scheduler and the board read these, never history
    mu double precision not null,
    sigma double precision not null,
    games integer not null default 0,
    in_flight integer not null default 0 check (in_flight >= 0),  -- rated matches queued or running
    faults integer not null default 0,        -- own faults in rated results that stand
    host_faults integer not null default 0,   -- attempts at its rated matches lost to us
    last_match_id text,
    last_match_at timestamptz,
    created_at timestamptz not null default now(),
    activated_at timestamptz,
    unique (season_id, submission_id)
);
create index entries_pending on entries (deadline_at) where state = 'pending';
create index entries_board on entries (season_id, mu desc, id) where state = 'active';
create index entries_agent on entries (agent_id, id);
create index entries_season on entries (season_id, id);

-- Uploads counted per team, season and UTC day; taken in the upload's transaction.
create table daily_uploads (
    season_id text not null references seasons,
    team_id text not null references teams,
    day date not null,
    used integer not null check (used >= 0),
    primary key (season_id, team_id, day)
);

create table scrims (
    id text primary key,
    season_id text not null references seasons,   -- whose game, configuration and clock are used
    team_id text not null references teams,
    requested_by text not null references users,
    lineup jsonb not null,                -- submission ids by seat before rotation
    games integer not null check (games between 1 and 100),
    state text not null default 'running' check (state in ('running', 'finished', 'cancelled')),
    finished_games integer not null default 0,
    void_games integer not null default 0,
    created_at timestamptz not null default now(),
    finished_at timestamptz
);
create index scrims_team on scrims (team_id, id);
create index scrims_running on scrims (id) where state = 'running';

-- What is scheduled, played and rated. The row is its own outbox: state, attempt, lease, bell.
create table matches (
    id text collate "C" primary key,
    kind text not null check (kind in ('rated', 'validation', 'scrim')),
    season_id text not null,
    scrim_id text,
    rejudges text,                        -- the finished match this one is to replace
    state text not null default 'queued' check (state in ('queued', 'running', 'finished', 'void')),
    queue text not null check (queue in ('play.cpu', 'play.gpu', 'scrim', 'validate')),
    turn integer not null default 0,      -- of its queue the least goes first: how many its team has before it
    profiles text[] not null,             -- runtime profiles the lineup needs
    gpu integer not null default 0,
    lanes integer not null default 1,
    speed_class text not null default 'any',  -- rated and validation: the season's; else any node
    seed bytea not null,                  -- 128 bits, hidden until the match is terminal
    attempt integer not null default 0,   -- the fence: a result counts only for the current attempt
    max_attempts integer not null,
    lease_seconds real not null,
    lease_until timestamptz,
    claimed_at timestamptz,
    worker text,                          -- id drawn when the worker process started
    node text,
    refused_worker text,                  -- let the lease lapse or gave up; not offered to it
    refused_until timestamptz,            -- before this moment, while another live one serves the queue
    rung_at timestamptz,
    deadline_at timestamptz not null,     -- a match still queued then is void
    void_reason text,
    accepted_no bigint,
    created_at timestamptz not null default now(),
    finished_at timestamptz
) partition by range (id);
create index matches_queued on matches (queue, turn, id) where state = 'queued';
create index matches_running on matches (lease_until) where state = 'running';
create index matches_season on matches (season_id, id);
create index matches_scrim on matches (scrim_id, id) where scrim_id is not null;
create index matches_live on matches (season_id, kind) where state in ('queued', 'running');
create index matches_rejudges on matches (rejudges) where rejudges is not null;
create table matches_default partition of matches default;

create table seats (
    match_id text collate "C" not null,
    seat integer not null,
    entry_id text,                        -- null in a scrim of a submission that is in no season
    submission_id text not null,
    agent_id text not null,
    team_id text not null,
    profile text not null default 'numpy',
    -- written once, by finish
    placement integer,
    reward double precision,
    verdict text check (verdict in ('DONE', 'ERROR', 'INVALID', 'TIMEOUT')),
    reason text,                          -- owner's eyes only: one sentence a person can act on
    failed_step integer,
    charged_seconds double precision,
    max_move_seconds double precision,
    log_digest text,                      -- owner's eyes only
    primary key (match_id, seat)
) partition by range (match_id);
create index seats_entry on seats (entry_id, match_id);
create index seats_agent on seats (agent_id, match_id);
create table seats_default partition of seats default;

-- One play-through. A match has one or more (a mirrored pair is one match of two).
create table episodes (
    id text primary key,
    number bigint generated always as identity,   -- the integer of Kaggle's formats; grants nothing
    match_id text not null,
    position integer not null default 0,
    steps integer not null,
    replay_digest text not null,
    created_at timestamptz not null default now()
);
create unique index episodes_match on episodes (match_id, position);
create unique index episodes_number on episodes (number);

-- One worker's try at a match, written once when it is over. Append-only.
create table attempts (
    match_id text collate "C" not null,
    attempt integer not null,
    worker text not null,
    node text not null default '',
    image_digest text not null default '',
    rules_digest text not null default '',
    started_at timestamptz not null,
    ended_at timestamptz not null default now(),
    ended text not null check (ended in ('finished', 'lapsed', 'fault', 'void')),
    fault text check (fault in ('worker', 'host', 'game')),
    detail text not null default '',
    primary key (match_id, attempt)
) partition by range (match_id);
create table attempts_default partition of attempts default;

-- The season's log. A season's ratings are a pure function of a prefix of it. Append-only, no gaps.
create table acceptances (
    season_id text not null references seasons,
    no bigint not null,
    match_id text not null,
    act text not null default 'accept' check (act in ('accept', 'withdraw')),
    created_at timestamptz not null default now(),
    primary key (season_id, no),
    unique (match_id, act)
);

-- What each number of the log did to each rating. Immutable. An accepted match moves those who
-- played it; a withdrawn one moves whoever its result had reached.
create table ratings (
    season_id text not null,
    no bigint not null,
    entry_id text not null,
    match_id text collate "C" not null,
    mu_before double precision not null,
    sigma_before double precision not null,
    mu double precision not null,
    sigma double precision not null,
    created_at timestamptz not null default now(),
    primary key (match_id, no, entry_id)
) partition by range (match_id);
create index ratings_entry on ratings (entry_id, no);
create table ratings_default partition of ratings default;

-- Worker processes that said hello; the lease asks here whether another one serves a queue.
create table workers (
    id text primary key,
    host text not null,
    node text not null,
    queues text[] not null,
    slots integer not null,
    profiles text[] not null,
    gpu integer not null default 0,
    speed_class text not null default 'any',
    lacks text[] not null default '{}',   -- what this node cannot give, in words
    started_at timestamptz not null default now(),
    seen_at timestamptz not null default now()
);

-- Answers kept for repeated POSTs with the same Idempotency-Key.
create table idempotency_keys (
    user_id text not null references users,
    key text not null,
    request_digest text not null,
    status integer,
    body jsonb,
    created_at timestamptz not null default now(),
    primary key (user_id, key)
);
create index idempotency_keys_age on idempotency_keys (created_at);

-- What is over stays as it was: a rejudge is a new row, never a changed one.
create function refuse_change() returns trigger language plpgsql as $$
begin
    raise exception '% of % refused: rows of the record are never changed', tg_op, tg_argv[0]
        using errcode = 'PK002';
end $$;

create trigger matches_over before update or delete on matches for each row
    when (old.state in ('finished', 'void')) execute function refuse_change('matches');
create trigger seats_written before update or delete on seats for each row
    when (old.placement is not null) execute function refuse_change('seats');
create trigger episodes_kept before update or delete on episodes for each row
    execute function refuse_change('episodes');
create trigger attempts_kept before update or delete on attempts for each row
    execute function refuse_change('attempts');
create trigger acceptances_kept before update or delete on acceptances for each row
    execute function refuse_change('acceptances');
create trigger ratings_kept before update or delete on ratings for each row
    execute function refuse_change('ratings');
