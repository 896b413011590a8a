-- A person agreed to terms of this league that name the roles grader and commentator. The row stays if
-- the person leaves the league, as what staff sees of earlier agents does.
create table role_agreements (
    league_id text not null references leagues,
    user_id text not null references users,
    agreed_at timestamptz not null default now(),
    primary key (league_id, user_id)
);
create index role_agreements_user on role_agreements (user_id);
