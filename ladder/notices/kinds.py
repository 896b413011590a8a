"""The kinds of notices and the forms of channels.

``kinds.sql`` says for each kind who is told and by which forms. To add a kind, add a line there, a
member here, and its words in ``texts``. A test compares the three.
"""

from __future__ import annotations

from enum import StrEnum


class NoticeKind(StrEnum):
    """What an event is."""

    HOST_DIGEST = "host_digest"
    """One notice of everything that hosts hear of in ten minutes. It has no events of its own."""
    MEMBER_JOINED = "member_joined"
    """Somebody joined a league by a code. ``user_id`` joined ``league_id``."""
    JOIN_REQUESTED = "join_requested"
    """Somebody asks to join a league. ``user_id`` asks for ``league_id``."""
    SEASON_ALARM = "season_alarm"
    """A season finishes no match in time, or its host is too slow. ``details``: cause."""
    VALIDATION_PASSED = "validation_passed"
    VALIDATION_FAILED = "validation_failed"
    AGENT_PAUSED = "agent_paused"
    """A remote agent has three strikes."""
    AGENT_RESUMED = "agent_resumed"
    AGENT_RETIRED = "agent_retired"
    """A paused agent was away too long."""
    AGENT_DISQUALIFIED = "agent_disqualified"
    """A host disqualified an entry, its agent or its team. ``entry_id`` is the agent's newest."""
    AGENT_REINSTATED = "agent_reinstated"
    """A host undid a disqualification."""
    FAULTS_IN_ROW = "faults_in_row"
    """An entry made a fault in each of several rated matches in a row. ``details``: faults."""
    SCRIM_FINISHED = "scrim_finished"
    """``details``: finished, games."""
    SCRIM_ASKED = "scrim_asked"
    """Another team asks ``team_id`` for a scrim. ``details`` of all requests: request, games."""
    SCRIM_ACCEPTED = "scrim_accepted"
    SCRIM_DECLINED = "scrim_declined"
    SCRIM_WITHDRAWN = "scrim_withdrawn"
    SCRIM_EXPIRED = "scrim_expired"
    """The other team did not answer in time."""
    BATCH_FINISHED = "batch_finished"
    """A batch of scrims is over. ``details``: batch, finished, games."""
    COMPARISON_FINISHED = "comparison_finished"
    """A comparison of two versions has its verdict. ``details``: comparison, verdict."""
    MEDAL_LIKELY = "medal_likely"
    """The standings give the team a medal now. ``details`` of all medals: medal."""
    MEDAL_SEALED = "medal_sealed"
    MEDAL_AWARDED = "medal_awarded"
    """The final standing awards a medal that was not sealed."""
    MEDAL_LOST = "medal_lost"
    """A likely, sealed or awarded medal is gone."""
    SEASON_OPENED = "season_opened"
    SEASON_LOCKED = "season_locked"
    """Uploads ended; matches go on."""
    SEASON_FINISHED = "season_finished"
    JOIN_APPROVED = "join_approved"
    """A host approved the request of ``user_id`` to join ``league_id``."""
    JOIN_DECLINED = "join_declined"
    JOIN_EXPIRED = "join_expired"
    """The request of ``user_id`` to join ``league_id`` expired. ``details``: why."""
    TOURNAMENT_OPENED = "tournament_opened"
    """Its registration is open. ``details`` of all tournaments: tournament."""
    TOURNAMENT_PAIRING = "tournament_pairing"
    """``details``: stage, round, its title, and the opponent's agent id or the number of
    entrants."""
    TOURNAMENT_RESULT = "tournament_result"
    """Its result is public. ``details``: as of a pairing, and end or place."""
    TOURNAMENT_PLACE = "tournament_place"
    """The end is public, or a place was corrected after it. ``details``: place, entrants; before:
    the place that was told first; left: withdrawn or disqualified; champion: none, if all left;
    drawn: how many have the best reward."""
    CHANNEL_OFF = "channel_off"
    """A channel of ``user_id`` was switched off. ``details``: form, why."""
    MACHINE_QUARANTINED = "machine_quarantined"
    """A machine is in quarantine; ``user_id`` is an administrator. ``details``: machine."""
    TEAM_INVITED = "team_invited"
    """``user_id`` is invited to ``team_id``."""
    TEAM_JOINED = "team_joined"
    """``user_id`` joined ``team_id``; the others of the team are told."""


class Form(StrEnum):
    """How a notice reaches a person."""

    PAGE = "page"
    """The page of notices, which counts unread ones in the header."""
    MAIL = "mail"
    """Several notices in one mail."""
    WEBHOOK = "webhook"
    """A signed request to the person's address."""
    DISCORD = "discord"
    SLACK = "slack"
