"""Records of people, teams and viewers."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from ladder.enums import LeagueRole
from ladder.ids import LeagueId, TeamId, UserId


@dataclass(frozen=True, slots=True)
class User:
    id: UserId
    name: str
    is_admin: bool
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Team:
    id: TeamId
    slug: str
    name: str
    created_at: datetime
    ended_at: datetime | None = None
    """When it was dissolved or merged. None: it lives."""
    merged_into: TeamId | None = None
    """The team that it became part of."""


@dataclass(frozen=True, slots=True)
class Viewer:
    """The person who makes a request. A stranger has no user. Scopes are those of the token or
    session.
    """

    user_id: UserId | None = None
    name: str = ""
    is_admin: bool = False
    scopes: frozenset[str] = frozenset()
    team_ids: frozenset[TeamId] = frozenset()
    roles: dict[LeagueId, LeagueRole] = field(default_factory=dict)
    agreeing: dict[LeagueId, frozenset[TeamId]] = field(default_factory=dict)
    """For a grader or commentator: teams of which all people agreed to this person's role."""


STRANGER = Viewer()
