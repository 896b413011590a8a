-- Machines that joined with a code. Each has a database login of its own, by which the lease functions know it.
-- The workers of the site itself belong to no machine.

create table machine_invitations (
    id text primary key,
    code_hash text not null unique,       -- SHA-256 of the code
    created_by text not null references users,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null,
    used_at timestamptz,
    revoked_at timestamptz
);

create table machines (
    id text primary key,
    name text not null check (length(name) between 1 and 60),
    login text not null unique check (login ~ '^peck_machine_[0-9a-z]+$'),   -- role of Postgres, user of Redis
    secret_hash text not null unique,     -- SHA-256 of its secret: password of Postgres and Redis, token of the site
    invitation_id text not null references machine_invitations,
    joined_at timestamptz not null default now(),
    drained_at timestamptz,               -- null: it may claim matches
    revoked_at timestamptz                -- null: its credentials are valid
);
create unique index machines_name on machines (lower(name)) where revoked_at is null;

alter table workers add column machine_id text references machines;

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
