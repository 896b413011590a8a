-- What hosts and operators did to a league beyond the course of play, and why; never changed.
create table audits (
    id text collate "C" primary key,
    league_id text not null references leagues,
    season_id text references seasons,
    by_user text references users,        -- null: the operator, at the machine itself
    act text not null,                    -- what was done: 'disqualify', 'rejudge', 'extend', ...
    subject text not null,                -- the id of what it was done to
    reason text not null,
    details jsonb not null default '{}',
    created_at timestamptz not null default now()
);
create index audits_league on audits (league_id, id);
create trigger audits_kept before update or delete on audits for each row
    execute function refuse_change('audits');
