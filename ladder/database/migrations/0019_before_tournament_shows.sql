-- Show pages of tournaments, and what teams were told of their course.

-- A page for a screen, at a secret address. It shows games and results in order.
create table tournament_shows (
    id text collate "C" primary key,
    tournament_id text not null references tournaments,
    hash bytea not null unique,           -- SHA-256 of the secret
    created_by text not null references users,    -- the page shows at most what this person sees
    scene integer not null default 0,     -- which scene is on the screen, from 0; moved by keys
    scene_seconds double precision        -- null: by key; else a clock moves it
        check (scene_seconds between 1 and 3600),
    begins_at timestamptz not null default now(), -- of the clock
    created_at timestamptz not null default now(),
    expires_at timestamptz not null
);
create index tournament_shows_of on tournament_shows (tournament_id, id);

alter table tournament_entrants
    add column told_pairing text,         -- newest round, as in 1.2, whose pairing its team was told
    add column told_result text,          -- newest round whose result its team was told
    add column told_place integer;        -- place at the end
