"""Records of people, teams and viewers."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated

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
