-- All tables, by feature. Functions and triggers stand beside the code that uses them, such as
-- ladder/matches/lease.sql.
--
-- Ids are text with a type prefix and sort by creation (ladder/ids.py). The large tables (matches,
-- seats, attempts, ratings) are partitioned by range of match id, so the id alone stays their key;
-- ladder/database/migrate.py makes a partition a month. Their ids compare byte by byte (collate "C"),
-- as they are built.

-- -------------------------------------------------------------------------------------------------
-- People and their sign-in
-- -------------------------------------------------------------------------------------------------

-- Names stand only here: erasing a person leaves results under the team's pseudonym.
create table users (
    id text primary key,
    name text not null,
    look_alike text,                      -- the name with letters that look alike made equal
    is_admin boolean not null default false,
    created_at timestamptz not null default now(),
    erased_at timestamptz
);
create unique index users_name on users (lower(name)) where erased_at is null;
create unique index users_look_alike on users (look_alike) where erased_at is null;

create table passwords (
    user_id text primary key references users,
    hash text not null,                   -- argon2id with its parameters
    changed_at timestamptz not null default now()
);

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

-- A browser that is signed in. The cookie holds a random key.
create table sessions (
    id text primary key,
    user_id text not null references users,
    token_id text references tokens,      -- the pasted token; the session ends with it
    hash bytea not null unique,           -- SHA-256 of the key
    device text not null,                 -- browser and system, for people
    created_at timestamptz not null default now(),
    seen_at timestamptz not null default now(),
    expires_at timestamptz not null,
    confirmed_at timestamptz,             -- when the person last proved to be that person
    confirmed_by text
        check (confirmed_by in ('password', 'passkey', 'identity', 'recovery', 'token')),
    revoked_at timestamptz
);
create index sessions_user on sessions (user_id);

-- `peck login` on another device. It waits until a signed-in person confirms its code.
create table device_logins (
    id text primary key,
    hash bytea not null unique,           -- SHA-256 of the device's secret
    code text not null,                   -- what the person types, such as BCDF-GHJK
    device text not null,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null,
    user_id text references users,        -- who confirmed or refused it
    answered_at timestamptz,
    is_refused boolean not null default false,
    used_at timestamptz                   -- when the device got its token
);
create unique index device_logins_code on device_logins (code) where answered_at is null;
create index device_logins_age on device_logins (created_at);

-- What a browser began and must finish soon: the challenge of a passkey, a visit to an identity
-- provider, a sign-up with a proven identity. Finishing deletes the row, so each counts once.
create table sign_in_steps (
    hash bytea primary key,               -- SHA-256 of the challenge or state
    purpose text not null,
    browser bytea not null,               -- SHA-256 of the browser's cookie
    user_id text references users,        -- who links or confirms; null: nobody is signed in
    details jsonb not null default '{}',
    expires_at timestamptz not null
);
create index sign_in_steps_age on sign_in_steps (expires_at);
create index sign_in_steps_user on sign_in_steps (user_id);

-- Links that act once: mailed ones, and those that an administrator hands over.
create table one_time_links (
    hash bytea primary key,               -- SHA-256 of the secret in the link
    purpose text not null check (purpose in ('recovery', 'address', 'sign_up')),
    user_id text references users,        -- null: the person has no account yet
    address text,                         -- where it was mailed; null: made by an administrator
    created_by text references users,     -- the administrator
    created_at timestamptz not null default now(),
    expires_at timestamptz not null,
    used_at timestamptz
);
create index one_time_links_user on one_time_links (user_id);
create index one_time_links_age on one_time_links (created_at);

-- Codes for people who lost every other credential. A new set replaces the old one.
create table recovery_codes (
    hash bytea primary key,               -- SHA-256 of the code
    user_id text not null references users,
    created_at timestamptz not null default now(),
    used_at timestamptz
);
create index recovery_codes_user on recovery_codes (user_id);

-- Public keys of passkeys.
create table passkeys (
    id text primary key,
    user_id text not null references users,
    credential_id bytea not null unique,  -- chosen by the person's device
    public_key bytea not null,            -- COSE, RFC 9052
    sign_count bigint not null,           -- 0 for devices that do not count
    name text not null,
    created_at timestamptz not null default now(),
    used_at timestamptz
);
create index passkeys_user on passkeys (user_id);

-- Accounts of people at identity providers.
create table identities (
    id text primary key,
    user_id text not null references users,
    issuer text not null,                 -- address of the issuer
    subject text not null,                -- the person's id there, which never changes
    label text not null,                  -- name or address there, for the person
    created_at timestamptz not null default now(),
    used_at timestamptz,
    unique (issuer, subject)
);
create index identities_user on identities (user_id);

-- A person's mail address, proven by a mailed link or by an identity provider of its domain.
create table mail_addresses (
    user_id text primary key references users,
    address text not null,
    proven_at timestamptz not null default now()
);
create unique index mail_addresses_address on mail_addresses (lower(address));

-- A person whom an administrator blocked. Sessions and tokens ended at that moment.
create table user_blocks (
    user_id text primary key references users,
    reason text not null,
    by_user text references users,        -- null: the operator, at the machine itself
    created_at timestamptz not null default now()
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

-- -------------------------------------------------------------------------------------------------
-- Teams
-- -------------------------------------------------------------------------------------------------

create table teams (
    id text primary key,
    slug text not null unique,
    name text not null,
    look_alike text,                      -- the name with letters that look alike made equal
    created_by text references users,
    created_at timestamptz not null default now(),
    ended_at timestamptz,                 -- when it was dissolved or merged; null: it lives
    merged_into text references teams,
    erased_at timestamptz
);
create unique index teams_look_alike on teams (look_alike);

create table memberships (
    team_id text not null references teams,
    user_id text not null references users,
    is_owner boolean not null default false,
    created_at timestamptz not null default now(),
    primary key (team_id, user_id)
);
create index memberships_user on memberships (user_id);

-- An invitation to a team: a link for whoever has it, or for one person.
create table team_invitations (
    id text primary key,
    team_id text not null references teams,
    user_id text references users,        -- the only person who may use it; null: whoever has the link
    hash bytea not null unique,           -- SHA-256 of the link's code; the code itself is never stored
    max_uses integer not null default 1 check (max_uses between 1 and 100),
    created_by text references users,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null,
    revoked_at timestamptz,
    declined_at timestamptz
);
create index team_invitations_team on team_invitations (team_id, id);
create index team_invitations_user on team_invitations (user_id, id) where user_id is not null;

-- Who joined by which invitation.
create table team_joinings (
    invitation_id text not null references team_invitations,
    user_id text not null references users,
    created_at timestamptz not null default now(),
    primary key (invitation_id, user_id)
);
create index team_joinings_user on team_joinings (user_id);

-- A request of one team to become part of another one.
create table team_merges (
    id text primary key,
    team_id text not null references teams,
    into_team_id text not null references teams,
    asked_by text references users,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null,
    answered_by text references users,
    answered_at timestamptz,
    outcome text check (outcome in ('merged', 'declined', 'withdrawn')),
    constraint team_merges_two check (team_id <> into_team_id),
    constraint team_merges_end check ((answered_at is null) = (outcome is null))
);
create unique index team_merges_open on team_merges (team_id, into_team_id) where outcome is null;
create index team_merges_into on team_merges (into_team_id);

-- What people did with a team. Append-only, but for the texts in the details of a deleted account.
create table team_audits (
    id text collate "C" primary key,
    team_id text not null,                -- the row stays after its team is deleted
    by_user text references users,        -- null: the operator, at the machine itself
    act text not null,                    -- 'create', 'rename', 'invite', 'join', 'leave', ...
    subject text not null default '',     -- id of the person, team or invitation that it was done to
    details jsonb not null default '{}',
    created_at timestamptz not null default now()
);
create index team_audits_team on team_audits (team_id, id);

-- -------------------------------------------------------------------------------------------------
-- Leagues and their members
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
    takes_requests boolean not null default false,    -- whether people may ask to join
    live_delay_seconds integer not null default 0     -- holds back the steps of running matches
        check (live_delay_seconds between 0 and 3600),
    created_by text references users,
    created_at timestamptz not null default now()
);

-- The agreed columns hold the terms at joining. A host cannot widen the settings past them without
-- the member.
create table league_members (
    league_id text not null references leagues,
    user_id text not null references users,
    role text not null check (role in ('host', 'competitor', 'viewer')),
    duty text check (duty in ('co-host', 'grader', 'commentator')),   -- role is then 'viewer'
    agreed_visibility text not null,
    agreed_replays text not null,
    agreed_remote boolean not null default false,
    terms_digest text,                    -- SHA-256 of the text; null: added by a host
    agreed_at timestamptz,
    created_at timestamptz not null default now(),
    primary key (league_id, user_id)
);
create index league_members_user on league_members (user_id);

-- A person agreed to terms of this league that name the roles grader and commentator. The row stays if
-- the person leaves the league: graders and commentators still see this person's earlier agents.
create table role_agreements (
    league_id text not null references leagues,
    user_id text not null references users,
    agreed_at timestamptz not null default now(),
    primary key (league_id, user_id)
);
create index role_agreements_user on role_agreements (user_id);

-- Who was grader or commentator of a league. They do not compete in seasons that existed then.
create table former_staff (
    league_id text not null references leagues,
    user_id text not null references users,
    role text not null check (role in ('grader', 'commentator')),
    ended_at timestamptz not null default now(),
    primary key (league_id, user_id)
);

-- A host blocked this person: no role, no request, no entry in this league.
create table league_blocks (
    league_id text not null references leagues,
    user_id text not null references users,
    reason text not null,
    by_user text references users,        -- null: the operator, at the machine itself
    created_at timestamptz not null default now(),
    primary key (league_id, user_id)
);
create index league_blocks_user on league_blocks (user_id);

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

-- Who joined by which code, or signed up with it. A person counts once per code.
create table joinings (
    invitation_id text not null references invitations,
    user_id text not null references users,
    created_at timestamptz not null default now(),
    joined_at timestamptz,                -- null: signed up, and has not joined yet
    primary key (invitation_id, user_id)
);

-- The people whom a host expects, from a CSV file. Each line has its own code; the account that joins with it is the
-- expected person. Only hosts see the external id.
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

-- The team that people with this team's name in a league's roster join.
create table roster_teams (
    league_id text not null references leagues,
    name_digest bytea not null,           -- SHA-256 of the name in lower case: names stand elsewhere
    team_id text not null references teams,
    primary key (league_id, name_digest)
);
create index roster_teams_team on roster_teams (team_id);

-- A person asked to join. What the person agreed to becomes the membership's agreement.
create table join_requests (
    id text collate "C" primary key,
    league_id text not null references leagues,
    user_id text not null references users,
    words text not null default '',       -- of the person
    state text not null default 'waiting'
        check (state in ('waiting', 'approved', 'declined', 'withdrawn', 'expired')),
    agreed_visibility text not null,
    agreed_replays text not null,
    agreed_remote boolean not null,
    terms_digest text not null,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null,
    answered_at timestamptz,
    answered_by text references users,
    answer text not null default '',      -- of the host
    constraint join_requests_end check ((state = 'waiting') = (answered_at is null))
);
create unique index join_requests_waiting on join_requests (league_id, user_id) where state = 'waiting';
create index join_requests_due on join_requests (expires_at) where state = 'waiting';
create index join_requests_league on join_requests (league_id, id);
create index join_requests_user on join_requests (user_id, id);

-- -------------------------------------------------------------------------------------------------
-- Seasons
-- -------------------------------------------------------------------------------------------------

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
    team_active_limit integer             -- active entries of a team, over all its agents
        check (team_active_limit between 1 and 100),
    scrim_games_daily integer not null default 500    -- that a team may request in a UTC day
        check (scrim_games_daily between 0 and 10000),
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
    rated_at timestamptz,                 -- the latest result
    official_is_stale boolean not null default false,  -- the entrants changed since
    -- its medals
    medals jsonb not null default '{"kind": "table"}',  -- who earns one: Kaggle's table, or ladder/leagues/medals.py
    medal_confidence double precision not null default 0.95
        check (medal_confidence >= 0.5 and medal_confidence <= 0.99),
    medal_teams integer,                  -- number of teams that the medals go by, once uploads locked
    is_sealed boolean not null default false,     -- every medal is sealed
    final_version bigint,                 -- the cold fit at the end; null until it is made
    medal_notices_version bigint not null default 0,  -- whose medals were compared with medal_notices
    created_at timestamptz not null default now(),
    unique (league_id, number)
);

-- Who competes in a season, and for which team. Leaving the team keeps the row.
create table season_competitors (
    season_id text not null references seasons,
    user_id text not null references users,
    team_id text not null references teams,
    created_at timestamptz not null default now(),
    primary key (season_id, user_id)
);
create index season_competitors_team on season_competitors (team_id);
create index season_competitors_user on season_competitors (user_id);

-- One team's later end of uploads in a season, given by a host. The audit log says why.
create table extensions (
    season_id text not null references seasons,
    team_id text not null references teams,
    closes_at timestamptz not null,
    primary key (season_id, team_id)
);

-- -------------------------------------------------------------------------------------------------
-- Agents and entries
-- -------------------------------------------------------------------------------------------------

create table agents (
    id text primary key,
    team_id text not null references teams,
    slug text not null,
    name text not null,
    machines text not null default 'trusted' check (machines in ('trusted', 'any')),  -- that may run it
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
    pause_cause text                      -- PauseCause in ladder/entries/records.py; null unless it is paused
        check (pause_cause in ('unreachable', 'team_blocked')),
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
    faults_in_row integer not null default 0,     -- in rated matches; one notice tells of several
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
    unique (season_id, submission_id),
    constraint entries_pause_cause_of_paused
        check ((state = 'paused') = (pause_cause is not null))
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
-- Scrims and comparisons
-- -------------------------------------------------------------------------------------------------

-- Whom an agent plays in scrims. Without a row ladder/scrims/policies.py says it.
create table scrim_policies (
    agent_id text primary key references agents on delete cascade,
    whom text not null check (whom in ('nobody', 'league', 'teams', 'anyone')),
    team_ids text[] not null default '{}',          -- for 'teams'
    blocked_team_ids text[] not null default '{}',
    games_daily integer check (games_daily >= 0),   -- with all other teams in a UTC day; null: no limit
    accepts_automatically boolean not null,
    changed_at timestamptz not null default now()
);

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
    ended_by text check (ended_by in ('bounds', 'pairs', 'deadline', 'host_faults', 'opponent_gone')),
    waits_until timestamptz,              -- no games are asked for until then: a limit, or an opponent refuses
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
    comparison_id text references comparisons,    -- each game of a comparison is a scrim
    batch_id text references scrim_batches,
    -- who sees it, fixed when it is made (scrims/scrims.sql)
    side_team_ids text[] not null default '{}',      -- teams with an agent in it
    result_audience text not null default 'asker'
        check (result_audience in ('asker', 'sides', 'league')),
    replay_audience text not null default 'asker'
        check (replay_audience in ('asker', 'sides', 'league')),
    log_audience text not null default 'own'
        check (log_audience in ('own', 'sides', 'league')),
    is_members_only boolean not null default false,  -- the league was not public then
    created_at timestamptz not null default now(),
    finished_at timestamptz
);
create index scrims_team on scrims (team_id, id);
create index scrims_running on scrims (id) where state = 'running';
create index scrims_created on scrims (created_at);
create index scrims_batch on scrims (batch_id, id) where batch_id is not null;
create index scrims_sides on scrims using gin (side_team_ids) where result_audience <> 'asker';
create index scrims_comparison on scrims (comparison_id) where comparison_id is not null;

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

create table forks (
    scrim_id text primary key references scrims (id),
    match_id text not null,               -- the match that is continued; never itself a fork
    position integer not null,            -- which of its episodes
    step integer not null check (step >= 0),  -- recorded steps before the fork
    draws text not null check (draws in ('record', 'new')),
    moves jsonb not null default '{}'     -- moves by hand after the fork: a list by seat
);
create index forks_match on forks (match_id);

-- -------------------------------------------------------------------------------------------------
-- Matches
-- -------------------------------------------------------------------------------------------------

-- The matches and their queue. ladder/matches/lease.sql changes the state, the attempt and the lease.
create table matches (
    id text collate "C" primary key,
    kind text not null check (kind in ('rated', 'validation', 'scrim', 'tournament')),
    season_id text not null,
    scrim_id text,
    rejudges text,                        -- the finished match that this one is to replace
    state text not null default 'queued' check (state in ('queued', 'running', 'finished', 'void')),
    -- where it waits and which node can play it
    queue text not null check (queue in ('play.cpu', 'play.gpu', 'scrim', 'validate')),
    turn integer not null default 0,      -- lowest first; how many its requester has in the queue before it
    goes_first boolean not null default false,    -- the first rated match of an entry
    profiles text[] not null,             -- runtime profiles that the lineup needs
    gpu integer not null default 0,
    speed_class text not null default 'any',  -- rated and validation: the season's; scrim: any node
    woken_at timestamptz,                  -- when a wake-up message was last sent; null: one is due
    woken_on text,                        -- queue of that message; null: its own
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
    machine_id text,                      -- of the worker; null: a worker of the site
    -- the end
    void_reason text,
    void_cause text check (void_cause in ('agent_unreachable', 'attempts_used_up', 'overdue', 'called_off',
        'entry_left', 'not_needed')),
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
create index matches_unrated on matches (season_id, id) where kind <> 'rated';
create index matches_season_unrated on matches (season_id, kind, id) where kind <> 'rated';
create index matches_season_void on matches (season_id, id) where state = 'void';
create index matches_go_first on matches (turn, id) where goes_first and state in ('queued', 'running');
create index matches_of_machine on matches (machine_id)
    where state = 'running' and machine_id is not null;

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
    is_shared boolean not null default false,     -- another seat has the same placement
    bundle_refused boolean,               -- it failed because its bundle was not unpacked
    reason text,                          -- for its owner alone: one sentence a person can act on
    failed_step integer,
    charged_seconds double precision,
    max_move_seconds double precision,
    log_digest text,                      -- for its owner alone
    statistics jsonb,
    primary key (match_id, seat)
) partition by range (match_id);
create index seats_entry on seats (entry_id, match_id);
create table seats_default partition of seats default;
create index seats_results on seats (agent_id, match_id)
    include (seat, placement, verdict, submission_id);
create index seats_agent_faults on seats (agent_id, verdict, match_id) where verdict <> 'DONE';
create index seats_agent_shared on seats (agent_id, match_id) where is_shared and placement = 1;

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
    machine_id text,                      -- null: a worker of the site
    image_digest text not null default '',
    rules_digest text not null default '',
    started_at timestamptz not null,
    ended_at timestamptz not null default now(),
    ended text not null check (ended in ('finished', 'lapsed', 'fault', 'void')),
    fault text check (fault in ('worker', 'host', 'game')),
    fault_cause text check (fault_cause in ('no_box', 'slow_host')),
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

create table meetings (
    match_id text collate "C" not null,
    pair bytea not null,                   -- pair_of both agents, in matches/matches.sql
    primary key (pair, match_id)
);
-- Queries read the index alone where vacuum has marked the pages; rows are only added.
alter table meetings set (autovacuum_vacuum_insert_scale_factor = 0.02);

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

-- -------------------------------------------------------------------------------------------------
-- Machines and workers
-- -------------------------------------------------------------------------------------------------

create table machine_invitations (
    id text primary key,
    code_hash text not null unique,       -- SHA-256 of the code
    tier text not null default 'checked' check (tier in ('trusted', 'checked')),
    owner_id text references users,
    created_by text not null references users,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null,
    used_at timestamptz,
    revoked_at timestamptz
);

create table machines (
    id text primary key,
    name text not null check (length(name) between 1 and 60),
    tier text not null default 'checked' check (tier in ('trusted', 'checked')),
    owner_id text references users,       -- null: the site's own
    login text not null unique check (login ~ '^peck_machine_[0-9a-z]+$'),   -- role of Postgres, user of Redis
    secret_hash text not null unique,     -- SHA-256 of its secret: password of Postgres and Redis, token of the site
    invitation_id text not null references machine_invitations,
    joined_at timestamptz not null default now(),
    drained_at timestamptz,               -- null: it may claim matches
    quarantined_at timestamptz,           -- null: it may claim matches
    quarantine_reason text,
    judged_from timestamptz not null default now(),   -- older samples do not count
    revoked_at timestamptz                -- null: its credentials are valid
);
create unique index machines_name on machines (lower(name)) where revoked_at is null;
create index machines_owner on machines (owner_id) where owner_id is not null;

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
    machine_id text references machines,  -- null: a worker of the site
    seen_at timestamptz not null default now(),
    live_until timestamptz not null default now() + interval '15 seconds'   -- each heartbeat moves it
);

-- Blobs that a machine stored while it held the lease of this attempt. Rows go after a day.
create table machine_uploads (
    machine_id text not null references machines,
    match_id text not null,
    attempt integer not null,
    digest text not null,
    size_bytes bigint not null,
    uploaded_at timestamptz not null default now(),
    primary key (machine_id, digest, match_id, attempt)
);
create index machine_uploads_attempt on machine_uploads (match_id, attempt);

create table machine_reports (
    match_id text primary key,
    attempt integer not null,
    machine_id text not null references machines,
    worker text not null,
    seats jsonb not null,
    episodes jsonb not null,
    node text not null,
    image_digest text not null,
    rules_digest text not null,
    reported_at timestamptz not null default now()
);

-- Results of a machine that their replays did not give.
create table machine_mismatches (
    match_id text not null,
    attempt integer not null,
    machine_id text not null references machines,
    reason text not null,
    found_at timestamptz not null default now(),
    primary key (match_id, attempt)
);
create index machine_mismatches_machine on machine_mismatches (machine_id, found_at);

-- Two plays of one lineup and seed on trusted machines. They are scrims of nobody: nobody sees them.
create table machine_controls (
    id text primary key,
    season_id text not null references seasons,
    first_match_id text not null unique,
    second_match_id text not null unique,
    is_repeatable boolean,                -- both plays made the same moves; null: not compared yet
    created_at timestamptz not null default now()
);
create index machine_controls_waiting on machine_controls (id) where is_repeatable is null;

-- A play of a machine that is compared with its controls.
create table machine_samples (
    match_id text primary key,
    control_id text not null references machine_controls,
    machine_id text references machines,  -- null: a canary that no machine has played yet
    is_different boolean,                 -- other moves than both controls; null: they differ themselves
    compared_at timestamptz,              -- null: not compared yet
    created_at timestamptz not null default now()
);
create index machine_samples_machine on machine_samples (machine_id, compared_at);
create index machine_samples_waiting on machine_samples (match_id) where compared_at is null;
create index machine_samples_control on machine_samples (control_id);

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
-- Standings and medals
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
    expected_order double precision,      -- expected correlation of its ranks with the true ones (Spearman)
    medals jsonb,                         -- medal rules, as the season's at that time
    digest text not null,                 -- SHA-256 of the content
    content text,                         -- JSON, a row an entry; null once it was dropped
    suspects text,                        -- JSON: equal entries, unlikely results, pairs kept apart
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

-- The medal that each team was last told of. A change is told once.
create table medal_notices (
    season_id text not null references seasons,
    team_id text not null references teams,
    medal text not null check (medal in ('none', 'gold', 'silver', 'bronze')),
    status text not null check (status in ('none', 'likely', 'sealed', 'awarded')),
    told_at timestamptz not null default clock_timestamp(),
    primary key (season_id, team_id)
);

-- -------------------------------------------------------------------------------------------------
-- Moderation
-- -------------------------------------------------------------------------------------------------

-- What hosts and operators did to a league beyond the course of play, and why. Append-only.
create table audits (
    id text collate "C" primary key,
    league_id text references leagues,    -- null: an act on an account or the instance
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
-- Tournaments
-- -------------------------------------------------------------------------------------------------

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
    is_reference boolean not null default false,  -- a reference agent has no team-mates
    -- its end before the end
    last_position text,                   -- last stage and round that was paired with it
    reason text,                          -- of a disqualification, or why it was left out
    -- what its team was told
    told_pairing text,                    -- newest round, as in 1.2, whose pairing it was told
    told_result text,                     -- newest round whose result it was told
    told_place integer,                   -- place at the end
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

-- A page for a screen, at a secret address. It shows games and results in order.
create table tournament_shows (
    id text collate "C" primary key,
    tournament_id text not null references tournaments,
    hash bytea not null unique,           -- SHA-256 of the secret
    created_by text not null references users,    -- the page shows at most what this person sees
    scene integer not null default 0,     -- which scene is on the screen, from 0; moved by keys
    scene_seconds double precision        -- null: by key; else a clock moves it
        check (scene_seconds between 1 and 3600),
    begins_at timestamptz not null default now(), -- of the clock
    created_at timestamptz not null default now(),
    expires_at timestamptz not null
);
create index tournament_shows_of on tournament_shows (tournament_id, id);

-- -------------------------------------------------------------------------------------------------
-- Notices
-- -------------------------------------------------------------------------------------------------

-- What an event of each kind means. notices/kinds.sql writes the rows.
create table notice_kinds (
    kind text primary key,
    topic text not null,                  -- people choose by topic
    audience text not null check (audience in ('team', 'members', 'hosts', 'person')),
    is_public boolean not null,           -- also in the public feeds of its agent and its league
    gathers_in text references notice_kinds,  -- kind of the one notice that gathers these events
    default_forms text[] not null         -- forms that send it until the person says otherwise
);

create table notice_events (
    id text collate "C" primary key,
    kind text not null references notice_kinds,
    league_id text,
    season_id text,
    team_id text,
    agent_id text,
    entry_id text,
    match_id text,
    scrim_id text,
    user_id text,                         -- who acted, or the person whom it is about
    details jsonb not null default '{}',  -- numbers and keys; never what a person typed
    created_at timestamptz not null default clock_timestamp()
);
create index notice_events_agent on notice_events (agent_id, id) where agent_id is not null;
create index notice_events_league on notice_events (league_id, id) where league_id is not null;
create index notice_events_entry on notice_events (entry_id, kind) where entry_id is not null;
create index notice_events_season on notice_events (season_id, kind) where season_id is not null;
create index notice_events_age on notice_events (created_at);

-- One notice of one person.
create table notices (
    id text collate "C" primary key,
    user_id text not null references users,
    event_id text collate "C" not null references notice_events,  -- the first one, if it gathers
    kind text not null references notice_kinds,
    events integer not null default 1,
    counts jsonb not null default '{}',   -- gathered events: number by kind
    gather_key text,                      -- league and span of time; null: not gathered
    is_on_page boolean not null,
    created_at timestamptz not null default clock_timestamp(),
    read_at timestamptz,
    unique (user_id, gather_key)
);
create index notices_user on notices (user_id, id);
create index notices_unread on notices (user_id) where read_at is null and is_on_page;
create index notices_event on notices (event_id);
create index notices_age on notices (created_at);

-- Choices for a topic and a form. Without a row the defaults of notice_kinds hold.
create table notice_preferences (
    user_id text not null references users,
    topic text not null,
    form text not null check (form in ('page', 'mail', 'webhook', 'discord', 'slack')),
    is_on boolean not null,
    primary key (user_id, topic, form)
);

-- Where notices of a person go, besides the page.
create table notice_channels (
    id text collate "C" primary key,
    user_id text not null references users,
    form text not null check (form in ('mail', 'webhook', 'discord', 'slack')),
    address text not null,                -- '' for mail: the person's own proven address
    host text not null,                   -- at most a few calls at a time go to one host
    secret text not null default '',      -- signs webhooks; '' for other forms
    state text not null default 'on' check (state in ('on', 'off')),
    off_reason text check (off_reason in ('owner', 'failures', 'gone')),
    failures integer not null default 0,  -- in a row
    retry_at timestamptz,                 -- not called before; null: at any time
    has_succeeded boolean not null default false,
    last_call_seconds real not null default 0,
    mail_minutes integer not null default 60,     -- least time between two mails
    -- the lease of the worker that calls it
    worker text,
    lease_until timestamptz,
    served_at timestamptz,                -- last claim; who waits longest is next
    woken_at timestamptz,                 -- when a wake-up message was last sent
    created_at timestamptz not null default now(),
    constraint notice_channels_off check ((state = 'off') = (off_reason is not null))
);
create index notice_channels_user on notice_channels (user_id, id);
create unique index notice_channels_mail on notice_channels (user_id) where form = 'mail';
create index notice_channels_leased on notice_channels (lease_until) where lease_until is not null;

-- One notice on its way to one channel.
create table notice_deliveries (
    id text collate "C" primary key,
    channel_id text collate "C" not null references notice_channels on delete cascade,
    notice_id text collate "C" references notices on delete cascade,  -- null: a test
    state text not null default 'waiting'
        check (state in ('waiting', 'sent', 'failed', 'dropped')),
    attempts integer not null default 0,  -- the fence: only the present attempt may end it
    next_at timestamptz not null,
    deadline_at timestamptz not null,     -- not sent by then: failed
    status integer,                       -- of the last answer; null: none
    problem text,                         -- why the last attempt failed
    excerpt text,                         -- start of the last answer
    created_at timestamptz not null default clock_timestamp(),
    ended_at timestamptz,
    constraint notice_deliveries_end check ((state = 'waiting') = (ended_at is null))
);
create index notice_deliveries_due on notice_deliveries (channel_id, next_at, id)
    where state = 'waiting';
create index notice_deliveries_waiting on notice_deliveries (next_at) where state = 'waiting';
create index notice_deliveries_channel on notice_deliveries (channel_id, id);
create index notice_deliveries_notice on notice_deliveries (notice_id) where notice_id is not null;

-- Secret addresses of private Atom feeds.
create table notice_feeds (
    id text collate "C" primary key,
    user_id text not null references users,
    hash bytea not null unique,           -- SHA-256 of the secret; the secret itself is never stored
    agent_id text references agents,      -- only notices about this agent; null: all
    league_id text references leagues,    -- only notices about this league; null: all
    created_at timestamptz not null default now()
);
create index notice_feeds_user on notice_feeds (user_id, id);

-- -------------------------------------------------------------------------------------------------
-- The instance
-- -------------------------------------------------------------------------------------------------

-- What administrators chose while the instance runs. A missing row: the default counts.
create table instance_settings (
    name text primary key,                -- 'sign_up', or 'quota.' and the name of a quota
    value jsonb not null,
    changed_by text references users,     -- null: the operator, at the machine itself
    changed_at timestamptz not null default now()
);

-- An erasure begins with the request. The scheduler ends it within a minute.
create table erasures (
    user_id text primary key references users,
    team_ids text[] not null,             -- teams that had no other member
    league_ids text[] not null,           -- leagues that nobody else took part in
    requested_at timestamptz not null default now(),
    finished_at timestamptz
);
create index erasures_open on erasures (requested_at) where finished_at is null;

-- Blobs that the scheduler deletes, unless another row names them.
create table erased_blobs (
    digest text primary key,
    added_at timestamptz not null default now()
);

create table pictures (
    subject text primary key check (length(subject) <= 100),
    inputs text,                 -- digest of what the picture shows
    digest text,                 -- blob of the picture
    bytes bigint not null default 0,
    made_at timestamptz,         -- when it was last drawn, or found to be current
    asked_at timestamptz not null default now(),
    wanted_at timestamptz,       -- null: nothing to draw
    tried_at timestamptz,        -- until a minute later it belongs to the worker that took it
    tries integer not null default 0
);
create index pictures_wanted on pictures (wanted_at) where wanted_at is not null;
create index pictures_asked on pictures (asked_at);

-- -------------------------------------------------------------------------------------------------
-- Roles
-- -------------------------------------------------------------------------------------------------

-- The roles of workers and of the notifier, and the role whose members are the logins of machines. Each may
-- execute the functions that are granted to it, and nothing else. Nobody logs in as peck_machine: a member of a
-- role may change that role's password and end its sessions. The others log in once db.set_login has run.
do $$
declare
    v_role text;
begin
    foreach v_role in array array['peck_worker', 'peck_notifier', 'peck_machine'] loop
        begin
            if not exists (select 1 from pg_roles where rolname = v_role) then
                execute format('create role %I nologin', v_role);
            end if;
        exception
            when duplicate_object or unique_violation then
                null;  -- another database of this server was migrated at the same moment
            when insufficient_privilege then
                raise exception 'the role % is missing and this login may not create roles', v_role
                    using hint = format('as an administrator of the server: create role %I', v_role);
        end;
    end loop;
end $$;
