"""Closed lists of words that several domains share."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final

Json = Any
OWN_SEAT: Final = "own_seat"
"""Fault rule of a season: a seat at fault is last for its own update alone."""
KAGGLE: Final = "kaggle"
"""Fault rule of a season: the placement of a seat at fault counts."""


class Visibility(StrEnum):
    PUBLIC = "public"
    """Anyone may see the league."""
    INVITATION = "invitation"
    """Members and admins only; who holds one of its codes may join."""
    PRIVATE = "private"
    """Members and admins only."""


class ReplayVisibility(StrEnum):
    PUBLIC = "public"
    """Whoever may see the league may see its replays."""
    MEMBERS = "members"
    """Members of the league."""
    OWN = "own"
    """Teams that played in the match, and hosts."""
    AFTER_CLOSE = "after_close"
    """As OWN until the season is finished, then as PUBLIC."""


class LeagueRole(StrEnum):
    HOST = "host"
    """Runs the league."""
    COMPETITOR = "competitor"
    """May enter agents."""
    VIEWER = "viewer"
    """May look."""


class MatchKind(StrEnum):
    RATED = "rated"
    """Counts for the leaderboard."""
    VALIDATION = "validation"
    """A submission against copies of itself."""
    SCRIM = "scrim"
    """Unrated, by request, private."""


class MatchState(StrEnum):
    QUEUED = "queued"
    """Waits for a worker; void at its deadline."""
    RUNNING = "running"
    """Leased to a worker; queued again when the lease lapses."""
    FINISHED = "finished"
    """Accepted once and never changed."""
    VOID = "void"
    """Given up: nobody is rated."""
