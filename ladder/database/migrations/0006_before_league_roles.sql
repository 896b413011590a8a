-- Co-hosts, graders and commentators of leagues, and who agreed to each grader and commentator.

-- The role beyond host, competitor and viewer. The column role is then 'viewer', because processes of
-- the version before know no other.
alter table league_members add column duty text check (duty in ('co-host', 'grader', 'commentator'));

-- A member agreed that this person is grader or commentator. The rows go when the role ends.
create table staff_agreements (
    league_id text not null references leagues,
    user_id text not null references users,
    staff_id text not null references users,
    role text not null check (role in ('grader', 'commentator')),
    agreed_at timestamptz not null default now(),
    primary key (league_id, user_id, staff_id, role)
);
create index staff_agreements_staff on staff_agreements (staff_id);
