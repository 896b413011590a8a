-- The tables of the contest, by domain: people, leagues, entries, scrims, matches, ratings,
-- standings, moderation. Functions and triggers stand in ../functions as current text.
--
-- Ids are text with a type prefix and sort by creation (ladder/ids.py). The large tables (matches,
-- seats, attempts, ratings) are partitioned by range of match id, so the id alone stays their key;
-- ladder/database/migrate.py makes a partition a month. Their ids compare byte by byte (collate "C"),
-- as they are built.

-- -------------------------------------------------------------------------------------------------
-- People
-- -------------------------------------------------------------------------------------------------

-- Names stand only here: erasing a person leaves results under the team's pseudonym.
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
    hash bytea not null unique,           -- SHA-256 of the whole token; the token itself is never stored
    scopes text[] not null,
    created_at timestamptz not null default now(),
    expires_at timestamptz,
    revoked_at timestamptz
);
create index tokens_user on tokens (user_id);

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

-- -------------------------------------------------------------------------------------------------
-- Leagues
-- -------------------------------------------------------------------------------------------------

-- A standing contest. Its row decides who may see it and its replays.
create table leagues (
    id text primary key,
    slug text not null unique,
    title text not null,
    description text not null default '',
    game text not null,
    visibility text not null default 'public'
        check (visibility in ('public', 'invitation', 'private')),
    replay_visibility text not null default 'public'
        check (replay_visibility in ('public', 'members', 'own', 'after_close')),
    state text not null default 'open' check (state in ('open', 'paused', 'closed')),
    same_team_lineups boolean not null default false,  -- a small league may pair a team with itself
    remote_agents boolean not null default false,  -- whether its terms allow seasons with remote agents
    created_by text references users,
    created_at timestamptz not null default now()
);

-- The agreed columns hold the terms at joining. A host cannot widen the settings past them without
-- the member.
create table league_members (
    league_id text not null references leagues,
    user_id text not null references users,
    role text not null check (role in ('host', 'competitor', 'viewer')),
    agreed_visibility text not null,
    agreed_replays text not null,
    agreed_remote boolean not null default false,
    terms_digest text,                    -- SHA-256 of the text; null: added by a host
    agreed_at timestamptz,
    created_at timestamptz not null default now(),
    primary key (league_id, user_id)
);
create index league_members_user on league_members (user_id);

create table invitations (
    id text primary key,
    league_id text not null references leagues,
    role text not null check (role in ('competitor', 'viewer')),
    label text not null default '',
    hash bytea not null unique,           -- SHA-256 of the code; the code itself is never stored
    max_uses integer check (max_uses > 0),
    expires_at timestamptz,
    revoked_at timestamptz,
    created_by text references users,
    created_at timestamptz not null default now()
);
create index invitations_league on invitations (league_id, id);

-- Who joined by which code. A person counts once per code.
create table joinings (
    invitation_id text not null references invitations,
    user_id text not null references users,
    created_at timestamptz not null default now(),
    primary key (invitation_id, user_id)
);

-- The people whom a host expects, from a CSV file. Whoever joins by the line's own code is that
-- person. Only hosts see the external id.
create table roster (
    league_id text not null references leagues,
    external_id text not null,
    name text not null,
    team text not null,                   -- '': a team of their own
    role text not null check (role in ('competitor', 'viewer')),
    invitation_id text not null references invitations,
    user_id text references users,        -- null until they joined
    team_id text references teams,        -- the team they play for, once they joined
    created_at timestamptz not null default now(),
    primary key (league_id, external_id)
);
create unique index roster_invitation on roster (invitation_id);

-- A season pins everything that a result depends on. Changing any of it makes a new season.
create table seasons (
    id text primary key,
    league_id text not null references leagues,
    number integer not null,
    state text not null default 'open' check (state in ('open', 'locked', 'finished')),
    opens_at timestamptz not null default now(),
    closes_at timestamptz,                -- uploads lock
    ends_at timestamptz,                  -- pairing stops
    stops_when_sealed boolean not null default false,  -- the finals also end once every medal is sealed
    -- what is played
    game text not null,
    configuration jsonb not null,
    configuration_digest text not null,
    clock jsonb not null,                 -- sandbox/match/clock.py: act_seconds, bank_seconds, load, load_seconds
    seats integer not null check (seats between 1 and 16),
    cpus real not null default 1,
    memory_mb integer not null default 1024,
    profile_images jsonb not null default '{}',   -- profile -> image digest, once pinned
    speed_class text not null default 'any',
    remote_agents boolean not null default false,  -- whether remote agents may enter
    -- what a team may enter
    max_bundle_bytes bigint not null default 104857600,
    daily_limit integer not null default 5 check (daily_limit >= 0),
    active_limit integer,                 -- active entries per agent; null: all stay active
    -- how results are rated
    mu0 double precision not null default 600,
    sigma0 double precision not null default 200,
    beta double precision not null default 150,
    tau double precision not null default 0,
    draw_probability double precision not null default 0.05,
    fault_rule text not null default 'own_seat' check (fault_rule in ('own_seat', 'kaggle')),
    score_offset double precision not null default 0,
    -- A season for one seat ranks by what the game says of each episode. It plays rounds: round n has
    -- one seed, derived from the secret, and every active entry plays it.
    measures jsonb,                       -- ladder/leagues/measures.py, first counts first; null: rated
    secret bytea not null                 -- never shown
        default sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())),
    round bigint not null default 0,      -- the last round that was begun
    -- how its matches are run
    max_attempts integer not null default 3,
    lease_seconds real not null default 15,
    queue_seconds real not null default 3600,     -- a match that is queued for longer is void
    cadence_seconds real not null default 60,     -- a finished match is expected at least this often
    max_in_flight integer not null default 64,
    -- its log, its live ratings and its official standings
    accepted_no bigint not null default 0,        -- last number of the log of results; no gaps
    rated_no bigint not null default 0,           -- the rater has folded the log up to here
    revision bigint not null default 0,           -- grows whenever the leaderboard changes
    official_version bigint not null default 0,
    official_no bigint not null default 0,        -- log number that the official version covers
    official_at timestamptz,
    official_is_stale boolean not null default false,  -- the entrants changed since
    -- its medals
    medals jsonb not null default '{"kind": "table"}',  -- who earns one: Kaggle's table, or ladder/leagues/medals.py
    medal_confidence double precision not null default 0.95
        check (medal_confidence >= 0.5 and medal_confidence <= 0.99),
    medal_teams integer,                  -- number of teams that the medals go by, once uploads locked
    is_sealed boolean not null default false,     -- every medal is sealed
    final_version bigint,                 -- the cold fit at the end; null until it is made
    created_at timestamptz not null default now(),
    unique (league_id, number)
);

-- One team's later end of uploads in a season, given by a host. The audit log says why.
create table extensions (
    season_id text not null references seasons,
    team_id text not null references teams,
    closes_at timestamptz not null,
    primary key (season_id, team_id)
);

-- -------------------------------------------------------------------------------------------------
-- Entries
-- -------------------------------------------------------------------------------------------------

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

-- The bytes of one version of an agent, or the address of a remote one.
create table submissions (
    id text primary key,
    number bigint generated always as identity unique,   -- the integer of Kaggle's formats; grants nothing
    agent_id text not null references agents,
    digest text not null,                 -- SHA-256 of the bytes = the bundle's name in the blob store
    url text,                             -- address of a remote agent, shown to its owner; null: a bundle
    size_bytes bigint not null,
    filename text not null,
    message text not null default '',
    created_by text references users,
    created_at timestamptz not null default now(),
    unique (agent_id, digest)             -- per agent only, so nobody learns of equal files elsewhere
);

-- A submission takes part in a season through an entry. Validation, rating and activation stand here.
create table entries (
    id text primary key,
    season_id text not null references seasons,
    agent_id text not null references agents,
    team_id text not null references teams,
    submission_id text not null references submissions,
    parent_entry_id text references entries,
    profile text not null default 'numpy',
    state text not null default 'pending'
        check (state in ('pending', 'active', 'paused', 'rejected', 'retired')),
    reason text,                          -- why it was rejected or paused, one sentence
    is_anchor boolean not null default false,
    pairing_weight real not null default 1 check (pairing_weight >= 0),
    -- validation
    validation_match_id text,
    validations integer not null default 0,   -- validation matches made so far; our faults repeat it, up to 3
    deadline_at timestamptz,              -- end of validation; the scheduler acts on it
    taken_day date,                       -- day whose upload count it took; null: none, or given back
    -- maintained columns: the scheduler and the leaderboard read these, never history
    mu double precision not null,
    sigma double precision not null,
    games integer not null default 0,
    in_flight integer not null default 0 check (in_flight >= 0),  -- rated matches queued or running
    faults integer not null default 0,        -- own faults in rated results that stand
    host_faults integer not null default 0,   -- attempts at its rated matches that our faults ended
    round bigint not null default 0,          -- the last round that it played or that it came after
    totals jsonb not null default '{}',       -- sums by measure
    last_match_id text,
    last_match_at timestamptz,
    -- Three strikes pause a remote entry: it keeps its rank and is not paired. Validation matches try
    -- it again until it answers or is retired.
    strikes integer not null default 0,   -- rated matches in which it was unreachable
    struck_at timestamptz,                -- the last strike; a rest follows
    answered integer not null default 0,  -- matches answered in a row since then
    paused_at timestamptz,                -- null unless it is paused
    tries integer not null default 0,     -- validation matches since the pause
    next_try_at timestamptz,              -- null while a try is queued or running
    disqualified_at timestamptz,
    disqualified_from text                -- its state before, for a reinstatement
        check (disqualified_from in ('pending', 'active', 'paused', 'retired')),
    created_at timestamptz not null default now(),
    activated_at timestamptz,
    unique (season_id, submission_id)
);
create index entries_pending on entries (deadline_at) where state = 'pending';
create index entries_paused on entries (id) where state = 'paused';
create index entries_board on entries (season_id, mu desc, id) where state in ('active', 'paused');
create index entries_agent on entries (agent_id, id);
create index entries_season on entries (season_id, id);

-- Every pause of an entry, for its team.
create table pauses (
    entry_id text not null references entries,
    paused_at timestamptz not null,
    reason text not null,
    validation_match_id text,             -- the match that had activated it
    ended_at timestamptz,
    outcome text check (outcome in ('active', 'retired')),
    primary key (entry_id, paused_at),
    constraint pauses_end check ((ended_at is null) = (outcome is null))
);

-- Uploads counted per team, season and UTC day. The upload's transaction counts.
create table daily_uploads (
    season_id text not null references seasons,
    team_id text not null references teams,
    day date not null,
    used integer not null check (used >= 0),
    primary key (season_id, team_id, day)
);

-- The entry that stands for a team. Without one the team's best entry does.
create table declared_entries (
    season_id text not null references seasons,
    team_id text not null references teams,
    entry_id text not null unique references entries,
    declared_by text references users,
    declared_at timestamptz not null default now(),
    primary key (season_id, team_id)
);

-- -------------------------------------------------------------------------------------------------
-- Scrims
-- -------------------------------------------------------------------------------------------------

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

-- -------------------------------------------------------------------------------------------------
-- Matches
-- -------------------------------------------------------------------------------------------------

-- The matches and their queue. functions/lease.sql changes the state, the attempt and the lease.
create table matches (
    id text collate "C" primary key,
    kind text not null check (kind in ('rated', 'validation', 'scrim')),
    season_id text not null,
    scrim_id text,
    rejudges text,                        -- the finished match that this one is to replace
    state text not null default 'queued' check (state in ('queued', 'running', 'finished', 'void')),
    -- where it waits and which node can play it
    queue text not null check (queue in ('play.cpu', 'play.gpu', 'scrim', 'validate')),
    turn integer not null default 0,      -- lowest first; how many its requester has in the queue before it
    profiles text[] not null,             -- runtime profiles that the lineup needs
    gpu integer not null default 0,
    speed_class text not null default 'any',  -- rated and validation: the season's; scrim: any node
    woken_at timestamptz,                  -- when a wake-up message was last sent; null: one is due
    deadline_at timestamptz not null,     -- a match still queued then is void
    refused_worker text,                  -- lost or returned the match; not offered to it
    refused_until timestamptz,            -- before this moment, while another live one serves the queue
    seed bytea not null,                  -- 128 bits, hidden until the match is finished or void
    -- the lease
    attempt integer not null default 0,   -- the fence: a result counts only for the current attempt
    max_attempts integer not null,
    lease_seconds real not null,
    lease_until timestamptz,
    claimed_at timestamptz,
    worker text,                          -- id drawn when the worker process started
    node text,
    -- the end
    void_reason text,
    accepted_no bigint,                   -- number in the season's log
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
    -- written once, by lease_finish
    placement integer,
    reward double precision,
    verdict text check (verdict in ('DONE', 'ERROR', 'INVALID', 'TIMEOUT')),
    reason text,                          -- for its owner alone: one sentence a person can act on
    failed_step integer,
    charged_seconds double precision,
    max_move_seconds double precision,
    log_digest text,                      -- for its owner alone
    statistics jsonb,
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

-- One worker's try at a match, written once when it ends. Append-only.
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

-- Matches of rounds that are not over, so that a void one is made again on its round's seed.
create table round_matches (
    match_id text collate "C" primary key,
    season_id text not null references seasons,
    entry_id text not null references entries,
    round bigint not null,
    tries integer not null                -- matches made of this round for this entry, this one included
);
create index round_matches_season on round_matches (season_id);

-- Worker processes that registered. The lease functions ask here whether another one serves a queue.
create table workers (
    id text primary key,
    host text not null,
    node text not null,
    queues text[] not null,
    slots integer not null,
    profiles text[] not null,
    gpu integer not null default 0,
    speed_class text not null default 'any',
    lacks text[] not null default '{}',   -- what this node cannot provide, in words
    image_digests jsonb not null default '{}',    -- profile -> digest of the image that its node uses
    started_at timestamptz not null default now(),
    seen_at timestamptz not null default now()
);

-- -------------------------------------------------------------------------------------------------
-- Ratings
-- -------------------------------------------------------------------------------------------------

-- The season's log. A season's ratings are a pure function of a prefix of it. Append-only, no gaps.
-- Disqualifications take numbers too, so a standing's log number says which of them it covers.
create table acceptances (
    season_id text not null references seasons,
    no bigint not null,
    match_id text collate "C",
    entry_id text references entries,
    act text not null default 'accept',
    created_at timestamptz not null default now(),
    primary key (season_id, no),
    unique (match_id, act),
    constraint acceptances_act_check check (
        act in ('accept', 'withdraw') and match_id is not null and entry_id is null
        or act in ('disqualify', 'reinstate') and match_id is null and entry_id is not null)
);
create index acceptances_entries on acceptances (season_id, no) where entry_id is not null;
create index acceptances_withdrawn on acceptances (season_id, no) where act = 'withdraw';

-- What each number of the log changed in each rating. Immutable. An accepted match changes those who
-- played it; a withdrawn one changes every entry that its result had reached.
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

-- Progress of rating a season's log again without the results that its next stretch withdraws. A long
-- log is done in pieces; the row goes when the stretch is rated.
create table reratings (
    season_id text primary key references seasons,
    until bigint not null,     -- last number of that stretch; what is withdrawn by then is out
    no bigint not null,        -- results up to this number are in
    ratings jsonb not null     -- by entry: mu and sigma, to the last bit
);

-- -------------------------------------------------------------------------------------------------
-- Standings
-- -------------------------------------------------------------------------------------------------

-- The official standings of a season, in whole versions: what a fit of its whole log says. Versions
-- are only added. The content of old ones is dropped in time; the chain of parents is kept.
create table standings (
    season_id text not null references seasons,
    version bigint not null,              -- from 1, no gaps
    log_no bigint not null,               -- every result up to this number of the log, and no others
    parent bigint,                        -- the version whose messages it began from; null: a cold fit
    seed bigint not null,                 -- of the draws of ranks
    fitted_by integer not null,           -- number of the method; the same gives the same bytes
    boundary_weight double precision not null,  -- of the medals in what a game is worth
    centre double precision not null,     -- in beta, like the three below
    spread double precision not null,     -- standard deviation of the contenders
    kappa double precision not null,      -- how far pairs stray from one number each
    reference double precision not null,  -- mean of the reference agents: the season's mu0
    teams integer,                        -- number of teams that its medals went by
    wrong_medals double precision not null,   -- expected number
    digest text not null,                 -- SHA-256 of the content
    content text,                         -- JSON, a row an entry; null once it was dropped
    made_at timestamptz not null default now(),
    primary key (season_id, version)
);

-- A medal that a team keeps from this version on, whatever the remaining games bring: it has this
-- class or a better one with the season's confidence. Only an audited act takes it back.
create table sealed_medals (
    season_id text not null references seasons,
    team_id text not null references teams,
    version bigint not null,              -- of the standings that sealed it
    medal text not null check (medal in ('gold', 'silver', 'bronze')),
    chance double precision not null,     -- of this class or a better one, by that version
    sealed_at timestamptz not null default now(),
    primary key (season_id, team_id, version),
    foreign key (season_id, version) references standings
);

-- -------------------------------------------------------------------------------------------------
-- Moderation
-- -------------------------------------------------------------------------------------------------

-- What hosts and operators did to a league beyond the course of play, and why. Append-only.
create table audits (
    id text collate "C" primary key,
    league_id text not null references leagues,
    season_id text references seasons,
    by_user text references users,        -- null: the operator, at the machine itself
    act text not null,                    -- what was done: 'disqualify', 'rejudge', 'extend', ...
    subject text not null,                -- id of the thing that it was done to
    reason text not null,
    details jsonb not null default '{}',
    created_at timestamptz not null default now()
);
create index audits_league on audits (league_id, id);

create table unsealed_medals (
    season_id text not null,
    team_id text not null,
    version bigint not null,
    audit_id text collate "C" not null references audits,
    unsealed_at timestamptz not null default now(),
    primary key (season_id, team_id, version),
    foreign key (season_id, team_id, version) references sealed_medals
);

-- Entries, agents and teams that are disqualified in a season now. An entry stays out while any row
-- covers it; an agent or a team enters nothing more.
create table exclusions (
    season_id text not null references seasons,
    subject text not null,                -- id of an entry, an agent or a team
    created_at timestamptz not null default now(),
    primary key (season_id, subject)
);

-- An act of judging matches again. The new matches are queued a few at a time.
create table rejudgements (
    id text collate "C" primary key,
    season_id text not null references seasons,
    predicate jsonb not null,             -- what the old matches have in common
    reason text not null,
    by_user text references users,        -- null: the operator, at the machine itself
    created_at timestamptz not null default now(),
    ended_at timestamptz,                 -- null while games of it wait or run
    outcome text check (outcome in ('done', 'void', 'cancelled')),
    constraint rejudgements_end check ((ended_at is null) = (outcome is null))
);
create index rejudgements_open on rejudgements (id) where ended_at is null;

create table rejudged (
    rejudgement_id text not null references rejudgements,
    match_id text collate "C" not null,   -- the old match
    by_match_id text collate "C",         -- the new match, once it is queued
    refusal text,                         -- why there will be none
    primary key (rejudgement_id, match_id)
);
create index rejudged_waiting on rejudged (rejudgement_id, match_id)
    where by_match_id is null and refusal is null;
create index rejudged_match on rejudged (match_id);

-- -------------------------------------------------------------------------------------------------
-- The workers' role
-- -------------------------------------------------------------------------------------------------

-- It may execute the functions that functions/lease.sql grants to it, and nothing else. It cannot log
-- in until db.set_worker_login says how.
do $$
begin
    if not exists (select 1 from pg_roles where rolname = 'peck_worker') then
        create role peck_worker nologin;
    end if;
exception
    when duplicate_object or unique_violation then
        null;  -- another database of this server was migrated at the same moment
    when insufficient_privilege then
        raise exception 'the role peck_worker is missing and this login may not create roles'
            using hint = 'as an administrator of the server: create role peck_worker';
end $$;
