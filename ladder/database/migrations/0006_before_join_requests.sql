-- People ask to join a league, and hosts block people from a league.

alter table leagues add column takes_requests boolean not null default false;

-- A person asked to join. What the person agreed to becomes the membership's agreement.
create table join_requests (
    id text collate "C" primary key,
    league_id text not null references leagues,
    user_id text not null references users,
    words text not null default '',       -- of the person
    state text not null default 'waiting'
        check (state in ('waiting', 'approved', 'declined', 'withdrawn', 'expired')),
    agreed_visibility text not null,
    agreed_replays text not null,
    agreed_remote boolean not null,
    terms_digest text not null,
    agreed_staff text[] not null,         -- ids of graders and commentators that the terms named
    created_at timestamptz not null default now(),
    expires_at timestamptz not null,
    answered_at timestamptz,
    answered_by text references users,
    answer text not null default '',      -- of the host
    constraint join_requests_end check ((state = 'waiting') = (answered_at is null))
);
create unique index join_requests_waiting on join_requests (league_id, user_id) where state = 'waiting';
create index join_requests_due on join_requests (expires_at) where state = 'waiting';
create index join_requests_league on join_requests (league_id, id);
create index join_requests_user on join_requests (user_id, id);

-- A host blocked this person: no role, no request, no entry in this league.
create table league_blocks (
    league_id text not null references leagues,
    user_id text not null references users,
    reason text not null,
    by_user text references users,        -- null: the operator, at the machine itself
    created_at timestamptz not null default now(),
    primary key (league_id, user_id)
);
create index league_blocks_user on league_blocks (user_id);
