"""Enums that several domains share."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final

Json = Any
OWN_SEAT: Final = "own_seat"
"""Fault rule of a season: a fault puts a seat last, for the rating of that seat alone."""
KAGGLE: Final = "kaggle"
"""Fault rule of a season: the placement of a seat at fault counts."""


class Visibility(StrEnum):
    PUBLIC = "public"
    """Everybody may see the league."""
    INVITATION = "invitation"
    """Only members and admins may see the league; an invitation code makes a member."""
    PRIVATE = "private"
    """Only members and admins may see the league; hosts add members."""


class ReplayVisibility(StrEnum):
    PUBLIC = "public"
    """Everybody who may see the league may see its replays."""
    MEMBERS = "members"
    """Members of the league may see its replays."""
    OWN = "own"
    """Teams that played in the match, and hosts, may see the replay."""
    AFTER_CLOSE = "after_close"
    """Like OWN until the season is finished, then like PUBLIC."""


class LeagueRole(StrEnum):
    """What each role may do stands in ``ladder.people.records``."""

    HOST = "host"
    """Manages the league and its roles."""
    CO_HOST = "co-host"
    """Manages the league and gives the roles competitor and viewer. Does not change who sees it."""
    GRADER = "grader"
    """Reads logs of teams whose people agreed to it; never competes."""
    COMMENTATOR = "commentator"
    """Sees hidden results of teams whose people agreed to it; never competes."""
    COMPETITOR = "competitor"
    """May enter agents."""
    VIEWER = "viewer"
    """May look at the league."""


class MatchKind(StrEnum):
    RATED = "rated"
    """Counts for the leaderboard."""
    VALIDATION = "validation"
    """Plays a submission against copies of itself."""
    SCRIM = "scrim"
    """An unrated, private match that a team requested. Without a row in scrims: of a check of
    machines, which nobody sees."""
    TOURNAMENT = "tournament"
    """A game of a tournament; it rates nobody."""


class Embargo(StrEnum):
    """Who may see a match of a tournament. Hosts and commentators see it before."""

    HIDDEN = "hidden"
    """Nobody else."""
    PARTICIPANTS = "participants"
    """The teams that play in it."""
    PUBLIC = "public"
    """Everybody who may see the league."""


class ScrimAudience(StrEnum):
    """Who sees the results, or the replays, of a scrim. Each includes the ones before."""

    ASKER = "asker"
    """The team that asked for the scrim."""
    SIDES = "sides"
    """Every team with an agent in it."""
    LEAGUE = "league"
    """Everybody who sees the league."""


class LogAudience(StrEnum):
    """Who reads what agents print in a scrim, among those who see its results."""

    OWN = "own"
    """Each team the output of its own agents."""
    SIDES = "sides"
    """Every team with an agent in it, all output."""
    LEAGUE = "league"
    """Everybody who sees the league."""


class MachineTier(StrEnum):
    """How far a machine that joined is trusted, the most trusted first."""

    TRUSTED = "trusted"
    """Plays everything, as the machines of the site itself."""
    CHECKED = "checked"
    """Plays agents that any machine may run. Its results are checked."""


class AgentMachines(StrEnum):
    """Which machines may run an agent, and so read its files."""

    TRUSTED = "trusted"
    """Trusted machines only."""
    ANY = "any"
    """All machines that joined, also checked ones."""


class MatchState(StrEnum):
    QUEUED = "queued"
    """Waits for a worker; becomes void at its deadline."""
    RUNNING = "running"
    """Leased to a worker; queued again when the lease expires."""
    FINISHED = "finished"
    """Has an accepted result, which never changes."""
    VOID = "void"
    """Ended without a result; rates nobody."""


class VoidCause(StrEnum):
    """Why a match is void. Code decides by it; the reason beside it is a text for people."""

    AGENT_UNREACHABLE = "agent_unreachable"
    """A remote agent was unreachable, so the match was not played."""
    ATTEMPTS_USED_UP = "attempts_used_up"
    """No attempt had a result."""
    OVERDUE = "overdue"
    """It did not begin, or its validation did not end, before the deadline."""
    CALLED_OFF = "called_off"
    """Those who asked for it cancelled it: a team its scrim, a host a tournament or rejudgement."""
    ENTRY_LEFT = "entry_left"
    """An entry in it was withdrawn, disqualified or deleted."""
    NOT_NEEDED = "not_needed"
    """Its pairing, tournament or comparison ended before it did."""


class FaultCause(StrEnum):
    """Why a machine failed an attempt. Only causes that code uses are listed; others are null."""

    NO_BOX = "no_box"
    """No box was ready in time because the host is busy."""
    SLOW_HOST = "slow_host"
    """The host is too slow for the clock of the season."""
