-- How far a machine is trusted, whose it is, and on which machines the owner of an agent lets it run.
-- Machines that joined before played everything, and go on.

alter table machines add column tier text not null default 'member'
    check (tier in ('trusted', 'member', 'volunteer'));
alter table machines add column owner_id text references users;   -- null: the site's own
update machines set tier = 'trusted';
create index machines_owner on machines (owner_id) where owner_id is not null;

alter table machine_invitations add column tier text not null default 'member'
    check (tier in ('trusted', 'member', 'volunteer'));
alter table machine_invitations add column owner_id text references users;

-- The least trusted machines that may run the agent.
alter table agents add column machine_tier text not null default 'trusted'
    check (machine_tier in ('trusted', 'member', 'volunteer'));
-- Everybody may read the bundles of reference agents.
update agents set machine_tier = 'volunteer'
 where team_id in (select id from teams where starts_with(slug, 'reference-agents') and created_by is null
                      and not exists (select 1 from memberships where team_id = teams.id));

alter table matches add column woken_on text;   -- queue of its last wake-up message; null: its own
