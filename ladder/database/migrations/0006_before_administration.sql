-- Administrators block people from the instance, and choose settings while it runs.

alter table audits alter column league_id drop not null;   -- null: an act on an account or the instance

-- A person whom an administrator blocked. Sessions and tokens ended at that moment.
create table user_blocks (
    user_id text primary key references users,
    reason text not null,
    by_user text references users,        -- null: the operator, at the machine itself
    created_at timestamptz not null default now()
);

-- What administrators chose while the instance runs. A missing row: the default counts.
create table instance_settings (
    name text primary key,                -- 'sign_up', or 'quota.' and the name of a quota
    value jsonb not null,
    changed_by text references users,     -- null: the operator, at the machine itself
    changed_at timestamptz not null default now()
);
