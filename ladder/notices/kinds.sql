-- The kinds of notices: who is told, where by default. notices/kinds.py has the same names.
--
-- team: people of the event's team, except the one who acted. members: members of the league, and
-- teams that entered it. hosts: hosts of the league. person: the event's person.

insert into notice_kinds (kind, audience, is_public, gathers_in, default_forms) values
    -- hosts get one notice for all acts of some minutes; it stands first, since others refer to it
    ('host_digest', 'hosts', false, null, '{page,mail,webhook,discord,slack}'),
    ('member_joined', 'hosts', false, 'host_digest', '{}'),
    ('join_requested', 'hosts', false, 'host_digest', '{}'),
    ('season_alarm', 'hosts', false, 'host_digest', '{}'),
    -- agents
    ('validation_passed', 'team', true, null, '{page,webhook,discord,slack}'),
    ('validation_failed', 'team', false, null, '{page,mail,webhook,discord,slack}'),
    ('agent_paused', 'team', false, null, '{page,mail,webhook,discord,slack}'),
    ('agent_resumed', 'team', false, null, '{page,webhook,discord,slack}'),
    ('agent_retired', 'team', false, null, '{page,mail,webhook,discord,slack}'),
    ('agent_disqualified', 'team', false, null, '{page,mail,webhook,discord,slack}'),
    ('agent_reinstated', 'team', false, null, '{page,mail,webhook,discord,slack}'),
    ('faults_in_row', 'team', false, null, '{page,mail,webhook,discord,slack}'),
    ('scrim_finished', 'team', false, null, '{page}'),
    ('scrim_asked', 'team', false, null, '{page,mail,webhook,discord,slack}'),
    ('scrim_accepted', 'team', false, null, '{page,webhook,discord,slack}'),
    ('scrim_declined', 'team', false, null, '{page,webhook,discord,slack}'),
    ('scrim_withdrawn', 'team', false, null, '{page}'),
    ('scrim_expired', 'team', false, null, '{page}'),
    ('batch_finished', 'team', false, null, '{page}'),
    ('comparison_finished', 'team', false, null, '{page,webhook,discord,slack}'),
    -- medals
    ('medal_likely', 'team', false, null, '{page,webhook,discord,slack}'),
    ('medal_sealed', 'team', true, null, '{page,mail,webhook,discord,slack}'),
    ('medal_awarded', 'team', true, null, '{page,mail,webhook,discord,slack}'),
    ('medal_lost', 'team', false, null, '{page,webhook,discord,slack}'),
    -- leagues
    ('season_opened', 'members', true, null, '{page,mail,webhook,discord,slack}'),
    ('season_locked', 'members', true, null, '{page,webhook,discord,slack}'),
    ('season_finished', 'members', true, null, '{page,mail,webhook,discord,slack}'),
    ('join_approved', 'person', false, null, '{page,mail,webhook,discord,slack}'),
    ('join_declined', 'person', false, null, '{page,mail,webhook,discord,slack}'),
    ('join_expired', 'person', false, null, '{page,mail,webhook,discord,slack}'),
    -- tournaments
    ('tournament_opened', 'members', true, null, '{page,mail,webhook,discord,slack}'),
    ('tournament_pairing', 'team', false, null, '{page}'),
    ('tournament_result', 'team', false, null, '{page}'),
    ('tournament_place', 'team', false, null, '{page,mail,webhook,discord,slack}'),
    -- the person's own channels
    ('channel_off', 'person', false, null, '{page,mail}'),
    -- administrators
    ('machine_quarantined', 'person', false, null, '{page,mail,webhook,discord,slack}'),
    -- teams
    ('team_invited', 'person', false, null, '{page,mail,webhook,discord,slack}'),
    ('team_joined', 'team', false, null, '{page,webhook,discord,slack}')
on conflict (kind) do update set audience = excluded.audience, is_public = excluded.is_public,
    gathers_in = excluded.gathers_in, default_forms = excluded.default_forms;
