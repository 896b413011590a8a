-- The official standings of a season, in whole versions: what a fit of its whole log says. A version
-- is only ever added; of old ones the content is dropped in time, the chain of parents is kept.
create table standings (
    season_id text not null references seasons,
    version bigint not null,              -- from 1, no gaps
    log_no bigint not null,               -- every result up to this number of the log, and no others
    parent bigint,                        -- the version whose messages it began from; null: a cold fit
    seed bigint not null,                 -- of the draws of ranks
    fitted_by integer not null,           -- number of the method; the same gives the same bytes
    boundary_weight double precision not null,  -- of the medals in what a game is worth
    centre double precision not null,     -- in beta, like the three below
    spread double precision not null,     -- standard deviation of the contenders
    kappa double precision not null,      -- how far pairs stray from one number each
    reference double precision not null,  -- mean of the reference agents: it stands at the season's mu0
    wrong_medals double precision not null,   -- expected number
    digest text not null,                 -- SHA-256 of the content
    content text,                         -- JSON, a row an entry; null once it was dropped
    made_at timestamptz not null default now(),
    primary key (season_id, version)
);
create trigger standings_kept before update on standings for each row
    when (new.content is not null or to_jsonb(new) - 'content' <> to_jsonb(old) - 'content')
    execute function refuse_change('standings');
create trigger standings_stay before delete on standings for each row
    execute function refuse_change('standings');

alter table seasons add column official_version bigint not null default 0;
alter table seasons add column official_no bigint not null default 0;  -- the log number it covers
alter table seasons add column official_at timestamptz;
alter table seasons add column official_is_stale boolean not null default false;  -- the field changed
