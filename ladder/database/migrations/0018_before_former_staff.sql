-- Who was grader or commentator of a league. They do not compete in seasons that existed then.
create table former_staff (
    league_id text not null references leagues,
    user_id text not null references users,
    role text not null check (role in ('grader', 'commentator')),
    ended_at timestamptz not null default now(),
    primary key (league_id, user_id)
);
