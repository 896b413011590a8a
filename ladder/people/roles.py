"""Says what each role of a league may do: one table of scopes."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Final

from ladder.enums import LeagueRole


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
