-- People delete their accounts. Results stay under a pseudonym.

alter table teams add column erased_at timestamptz;

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
