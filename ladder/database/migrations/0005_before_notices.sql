-- Notices: what people are told about, on which channels, and how each delivery went.
--
-- A notice holds ids and numbers only. Names are looked up when it is shown or sent, so a deleted
-- name is nowhere in these tables.

-- What an event of each kind means. notices/kinds.sql writes the rows.
create table notice_kinds (
    kind text primary key,
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

-- Deviations from the defaults of notice_kinds.
create table notice_preferences (
    user_id text not null references users,
    kind text not null references notice_kinds,
    form text not null check (form in ('page', 'mail', 'webhook', 'discord', 'slack')),
    is_on boolean not null,
    primary key (user_id, kind, form)
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

-- Faults in a row in rated matches. One notice tells of several.
alter table entries add column faults_in_row integer not null default 0;

-- The medal that each team was last told of. A change is told once.
create table medal_notices (
    season_id text not null references seasons,
    team_id text not null references teams,
    medal text not null check (medal in ('none', 'gold', 'silver', 'bronze')),
    status text not null check (status in ('none', 'likely', 'sealed', 'awarded')),
    told_at timestamptz not null default clock_timestamp(),
    primary key (season_id, team_id)
);
-- Newest official version whose medals were compared with medal_notices.
alter table seasons add column medal_notices_version bigint not null default 0;
update seasons set medal_notices_version = official_version where state = 'finished';

-- The role of the process that sends notices. It may execute the functions that notices/notices.sql
-- grants to it, and nothing else. It cannot log in until db.set_login says how.
do $$
begin
    if not exists (select 1 from pg_roles where rolname = 'peck_notifier') then
        create role peck_notifier nologin;
    end if;
exception
    when duplicate_object or unique_violation then
        null;  -- another database of this server was migrated at the same moment
    when insufficient_privilege then
        raise exception 'the role peck_notifier is missing and this login may not create roles'
            using hint = 'as an administrator of the server: create role peck_notifier';
end $$;
