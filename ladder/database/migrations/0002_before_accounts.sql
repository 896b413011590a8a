-- People sign up and sign in by themselves: passwords, sessions, and logins of other devices.

alter table users add column look_alike text;
-- The name with letters that look alike made equal; null for people from before this migration.
create unique index users_look_alike on users (look_alike) where erased_at is null;

create table passwords (
    user_id text primary key references users,
    hash text not null,                   -- argon2id with its parameters
    changed_at timestamptz not null default now()
);

-- People who signed up with a code of a league. The code counts as used by them before they join.
create table code_accounts (
    invitation_id text not null references invitations,
    user_id text not null references users,
    created_at timestamptz not null default now(),
    primary key (invitation_id, user_id)
);

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
