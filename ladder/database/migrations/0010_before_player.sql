-- Pictures of matches, agents and leagues. A row is wanted, drawn, and deleted when nobody asks for it any more.

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
