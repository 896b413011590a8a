-- Whether the terms that a member agreed to name the roles grader and commentator.
alter table league_members add column agreed_staff boolean not null default false;
