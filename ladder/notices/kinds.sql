-- The kinds of notices: their topic, who is told, where by default. notices/kinds.py has the same names.
--
-- team: people of the event's team, except the one who acted. members: members of the league, and
-- teams that entered it. hosts: hosts of the league. person: the event's person.

insert into notice_kinds (kind, topic, audience, is_public, gathers_in, default_forms) values
    -- hosts get one notice for all acts of some minutes; it stands first, since others refer to it
    ('host_digest', 'leagues', 'hosts', false, null, '{page,mail,webhook,discord,slack}'),
    ('member_joined', 'leagues', 'hosts', false, 'host_digest', '{}'),
    ('join_requested', 'leagues', 'hosts', false, 'host_digest', '{}'),
    ('season_alarm', 'leagues', 'hosts', false, 'host_digest', '{}'),
    -- agents
    ('validation_passed', 'agents', 'team', true, null, '{page,webhook,discord,slack}'),
    ('validation_failed', 'agents', 'team', false, null, '{page,mail,webhook,discord,slack}'),
    ('agent_paused', 'agents', 'team', false, null, '{page,mail,webhook,discord,slack}'),
    ('agent_resumed', 'agents', 'team', false, null, '{page,webhook,discord,slack}'),
    ('agent_retired', 'agents', 'team', false, null, '{page,mail,webhook,discord,slack}'),
    ('agent_disqualified', 'agents', 'team', false, null, '{page,mail,webhook,discord,slack}'),
    ('agent_reinstated', 'agents', 'team', false, null, '{page,mail,webhook,discord,slack}'),
    ('faults_in_row', 'agents', 'team', false, null, '{page,mail,webhook,discord,slack}'),
    ('scrim_finished', 'agents', 'team', false, null, '{page}'),
    ('scrim_asked', 'team', 'team', false, null, '{page,mail,webhook,discord,slack}'),
    ('scrim_accepted', 'team', 'team', false, null, '{page,webhook,discord,slack}'),
    ('scrim_declined', 'team', 'team', false, null, '{page,webhook,discord,slack}'),
    ('scrim_withdrawn', 'team', 'team', false, null, '{page}'),
    ('scrim_expired', 'team', 'team', false, null, '{page}'),
    ('batch_finished', 'agents', 'team', false, null, '{page}'),
    ('comparison_finished', 'agents', 'team', false, null, '{page,webhook,discord,slack}'),
    -- medals
    ('medal_likely', 'agents', 'team', false, null, '{page,webhook,discord,slack}'),
    ('medal_sealed', 'agents', 'team', true, null, '{page,mail,webhook,discord,slack}'),
    ('medal_awarded', 'agents', 'team', true, null, '{page,mail,webhook,discord,slack}'),
    ('medal_lost', 'agents', 'team', false, null, '{page,webhook,discord,slack}'),
    -- leagues
    ('season_opened', 'leagues', 'members', true, null, '{page,mail,webhook,discord,slack}'),
    ('season_locked', 'leagues', 'members', true, null, '{page,webhook,discord,slack}'),
    ('season_finished', 'leagues', 'members', true, null, '{page,mail,webhook,discord,slack}'),
    ('join_approved', 'leagues', 'person', false, null, '{page,mail,webhook,discord,slack}'),
    ('join_declined', 'leagues', 'person', false, null, '{page,mail,webhook,discord,slack}'),
    ('join_expired', 'leagues', 'person', false, null, '{page,mail,webhook,discord,slack}'),
    -- tournaments
    ('tournament_opened', 'tournaments', 'members', true, null, '{page,mail,webhook,discord,slack}'),
    ('tournament_pairing', 'tournaments', 'team', false, null, '{page}'),
    ('tournament_result', 'tournaments', 'team', false, null, '{page}'),
    ('tournament_place', 'tournaments', 'team', false, null, '{page,mail,webhook,discord,slack}'),
    -- the person's own channels
    ('channel_off', 'instance', 'person', false, null, '{page,mail}'),
    -- administrators
    ('machine_quarantined', 'instance', 'person', false, null, '{page,mail,webhook,discord,slack}'),
    -- teams
    ('team_invited', 'team', 'person', false, null, '{page,mail,webhook,discord,slack}'),
    ('team_joined', 'team', 'team', false, null, '{page,webhook,discord,slack}')
on conflict (kind) do update set topic = excluded.topic, audience = excluded.audience,
    is_public = excluded.is_public, gathers_in = excluded.gathers_in, default_forms = excluded.default_forms;
