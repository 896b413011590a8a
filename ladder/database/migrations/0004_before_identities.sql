-- A session knows when and how its person last proved to be that person. Null: before this version.
alter table sessions add column confirmed_at timestamptz;
alter table sessions add column confirmed_by text
    check (confirmed_by in ('password', 'passkey', 'identity', 'recovery', 'token'));

-- Acts of administrators on accounts belong to no league.
alter table audits alter column league_id drop not null;

-- A person's mail address, proven by a mailed link or by an identity provider of its domain.
create table mail_addresses (
    user_id text primary key references users,
    address text not null,
    proven_at timestamptz not null default now()
);
create unique index mail_addresses_address on mail_addresses (lower(address));

-- Codes for people who lost every other credential. A new set replaces the old one.
create table recovery_codes (
    hash bytea primary key,               -- SHA-256 of the code
    user_id text not null references users,
    created_at timestamptz not null default now(),
    used_at timestamptz
);
create index recovery_codes_user on recovery_codes (user_id);

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

-- People whom an administrator expects, from a CSV file. Each signs up with a code or an address.
create table expected_people (
    id text primary key,
    name text not null,                   -- '': the line has an address only
    address text,
    hash bytea not null unique,           -- SHA-256 of the code
    user_id text references users,        -- who signed up; null: nobody yet
    created_by text references users,
    created_at timestamptz not null default now()
);
create unique index expected_people_address on expected_people (lower(address));
