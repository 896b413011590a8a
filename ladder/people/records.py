"""Records of people, teams and viewers, and the scopes of each role of a league."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from types import MappingProxyType
from typing import Annotated, Final

from pydantic import Field

from ladder.enums import LeagueRole
from ladder.field_types import RECORD
from ladder.ids import LeagueId, TeamId, UserId


@dataclass(frozen=True, slots=True)
class User:
    __pydantic_config__ = RECORD
    id: Annotated[UserId, Field(examples=["usr_01j8x6m3c2k4v9q0w7r5t1y8z3"])]
    name: Annotated[str, Field(examples=["Ada"])]
    is_admin: bool
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Team:
    __pydantic_config__ = RECORD
    id: Annotated[TeamId, Field(examples=["tea_01j8x6m3c2k4v9q0w7r5t1y8z3"])]
    slug: Annotated[str, Field(examples=["night-geese"])]
    name: Annotated[str, Field(examples=["Night Geese"])]
    created_at: datetime
    ended_at: datetime | None = None
    """When it was dissolved or merged; null: it lives."""
    merged_into: TeamId | None = None
    """The team that it became part of."""


@dataclass(frozen=True, slots=True)
class TeamMember:
    __pydantic_config__ = RECORD
    id: Annotated[UserId, Field(examples=["usr_01j8x6m3c2k4v9q0w7r5t1y8z3"])]
    name: str
    is_owner: bool


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
    """For a grader or commentator: teams of which all people agreed to terms with this role."""


STRANGER = Viewer()


class RoleScope(Enum):
    """One right of a role, within its league."""

    MANAGE = "manage"
    """Seasons, entries, invitations, roster, competitors and viewers, moderation, audit log."""
    APPOINT = "appoint"
    """Roles beyond competitor and viewer, and who sees the league and its replays."""
    READ_LOGS = "read logs"
    """Logs, reasons and tracebacks of rated and validation matches, of teams that agreed."""
    SEE_HIDDEN_RESULTS = "see hidden results"
    """Replays that open when the season is finished, if all teams in them agreed."""
    COMPETE = "compete"
    """Entering agents."""


ROLE_SCOPES: Final[Mapping[LeagueRole, frozenset[RoleScope]]] = MappingProxyType(
    {
        LeagueRole.HOST: frozenset({RoleScope.MANAGE, RoleScope.APPOINT, RoleScope.COMPETE}),
        LeagueRole.CO_HOST: frozenset({RoleScope.MANAGE, RoleScope.COMPETE}),
        LeagueRole.GRADER: frozenset({RoleScope.READ_LOGS}),
        LeagueRole.COMMENTATOR: frozenset({RoleScope.SEE_HIDDEN_RESULTS}),
        LeagueRole.COMPETITOR: frozenset({RoleScope.COMPETE}),
        LeagueRole.VIEWER: frozenset(),
    }
)
STAFF: Final = (LeagueRole.GRADER, LeagueRole.COMMENTATOR)
"""Roles that the terms name, and that never compete."""
DUTIES: Final = (LeagueRole.CO_HOST, *STAFF)
"""Roles that the column ``duty`` holds; ``role`` is then viewer. So a process of the version
before, which does not know them, sees a viewer."""
ROLE: Final = "coalesce(duty, role)"
"""The role of a row of league_members, in SQL."""

SEASON_STAFF: Final = (
    "(select s.id as season_id, m.user_id, 'is ' || m.duty as task"
    " from seasons s join league_members m on m.league_id = s.league_id"
    " where m.duty in ('grader', 'commentator') and s.state <> 'finished'"
    " union all select s.id, f.user_id, 'was ' || f.role"
    " from seasons s join former_staff f on f.league_id = s.league_id"
    " where s.created_at <= f.ended_at and s.state <> 'finished')"
)
"""Who never competes in a season that is not finished, and why, in SQL: graders and commentators,
and people who gave such a role up after the season was made."""


def has_scope(role: LeagueRole | None, scope: RoleScope) -> bool:
    """Whether this role has this right; None is no role."""
    return role is not None and scope in ROLE_SCOPES[role]
