-- Leagues by invitation code, and what each member was told at joining.
alter table leagues drop constraint leagues_visibility_check;
alter table leagues add constraint leagues_visibility_check
    check (visibility in ('public', 'invitation', 'private'));

-- What a member agreed to: the settings are not widened past it without the member.
alter table league_members add column agreed_visibility text;
alter table league_members add column agreed_replays text;
alter table league_members add column terms_digest text;   -- SHA-256 of the text; null: added by a host
alter table league_members add column agreed_at timestamptz;
update league_members m set agreed_visibility = l.visibility, agreed_replays = l.replay_visibility
    from leagues l where l.id = m.league_id;
alter table league_members alter column agreed_visibility set not null;
alter table league_members alter column agreed_replays set not null;

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

-- Who joined by which code: a person uses one up once.
create table joinings (
    invitation_id text not null references invitations,
    user_id text not null references users,
    created_at timestamptz not null default now(),
    primary key (invitation_id, user_id)
);

-- Whom a host expects, from a CSV file. Who joins by the line's own code is that person; the
-- external id is for hosts alone.
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

-- One team's later end of uploads in a season, given by a host; why stands in the audit log.
create table extensions (
    season_id text not null references seasons,
    team_id text not null references teams,
    closes_at timestamptz not null,
    primary key (season_id, team_id)
);
