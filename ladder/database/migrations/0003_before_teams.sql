-- Teams that people make and manage, and the rule that a person competes once in a season.

alter table teams add column look_alike text;
-- The name with letters that look alike made equal; null for a duplicate from before this migration.
create unique index teams_look_alike on teams (look_alike);
alter table teams add column ended_at timestamptz;   -- when it was dissolved or merged; null: it lives
alter table teams add column merged_into text references teams;

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

-- The people of every team that has entered a season. A person of two such teams competes for the
-- one that entered first. The other team keeps its entries and makes no new one with this person.
insert into season_competitors (season_id, user_id, team_id)
select distinct on (e.season_id, m.user_id) e.season_id, m.user_id, e.team_id
  from entries e join memberships m on m.team_id = e.team_id
 where not e.is_anchor
 order by e.season_id, m.user_id, e.created_at, e.id;

-- The team that people with this team's name in a league's roster join.
create table roster_teams (
    league_id text not null references leagues,
    name_digest bytea not null,           -- SHA-256 of the name in lower case: names stand elsewhere
    team_id text not null references teams,
    primary key (league_id, name_digest)
);
create index roster_teams_team on roster_teams (team_id);
insert into roster_teams (league_id, name_digest, team_id)
select distinct on (r.league_id, lower(t.name))
       r.league_id, sha256(convert_to(lower(t.name), 'UTF8')), t.id
  from roster r join teams t on t.id = r.team_id
 where r.team <> '' order by r.league_id, lower(t.name), t.id;

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
