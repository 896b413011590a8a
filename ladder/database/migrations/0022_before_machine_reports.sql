-- Results of machines that are not trusted. A result counts once its replay gave it again.

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

alter table attempts add column machine_id text;   -- null: a worker of the site
