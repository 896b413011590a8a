"""What the API asks and answers about people beyond the records of ``ladder``."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from pydantic import ConfigDict, Field

from ladder.field_types import RECORD, FilledLine, Line, Name, RequestModel, ShownOnce
from ladder.leagues.sign_up import SignUpMode
from ladder.people.records import Team, User
from ladder.people.tokens import LoginState, Token

Quota = Annotated[int, Field(ge=0, le=10_000_000)]


@dataclass(frozen=True, slots=True)
class NewAccount:
    """A new person, their own team if there is one, and a token, which is shown only once."""

    __pydantic_config__ = RECORD
    user: User
    team: Team | None
    token: Annotated[str, Field(examples=["peck_..."])]


@dataclass(frozen=True, slots=True)
class Me:
    """The user of the token, the token and its scopes."""

    __pydantic_config__ = RECORD
    user: User
    teams: list[Team]
    scopes: Annotated[list[str], Field(examples=[["agents:write", "read"]])]
    token: Token


class NewDeviceLogin(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"device": "laptop"}]})
    device: Name
    """Name of the device, for the person who confirms."""


@dataclass(frozen=True, slots=True)
class StartedDeviceLogin:
    """What the device shows, and the secret by which it asks for its token."""

    __pydantic_config__ = RECORD
    secret: str
    code: Annotated[str, Field(examples=["BCDF-GHJK"])]
    path: str
    """Page of this site on which a signed-in person confirms the code."""
    poll_seconds: int
    """Least time between two requests for the token."""
    expires_at: datetime


class DeviceSecret(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"secret": "..."}]})
    secret: Annotated[str, Field(max_length=100)]


@dataclass(frozen=True, slots=True)
class DeviceToken:
    """The state of a device's login, with the token once a person has confirmed it."""

    __pydantic_config__ = RECORD
    state: LoginState
    token: str | None


class NewRecoveryLink(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"reason": "asked in the lecture"}]})
    reason: FilledLine
    """For the audit log."""


@dataclass(frozen=True, slots=True)
class RecoveryLink:
    """A link that signs a person in once. A repeated Idempotency-Key gets null for the path."""

    __pydantic_config__ = RECORD
    path: ShownOnce
    """Page of this site; shown only once."""
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class InstanceSettings:
    """What counts now. `chosen` names the settings that an administrator chose."""

    __pydantic_config__ = RECORD
    sign_up: str
    """Open, invitation, closed, or local before a choice."""
    quotas: Annotated[dict[str, int], Field(examples=[{"uploads": 200}])]
    """Highest numbers a day."""
    chosen: list[str]


class InstanceSettingsChange(RequestModel):
    """Settings to change; null goes back to the default."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"sign_up": "open"}]})
    sign_up: SignUpMode | None = None
    quotas: Annotated[dict[Line, Quota | None], Field(default_factory=dict, max_length=20)]


class Deletion(RequestModel):
    """The request to delete one's account."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"name": "Ada", "password": "three geese on a torus"}]}
    )
    name: Annotated[str, Field(max_length=200)]
    """Your name, as a confirmation."""
    password: Annotated[str, Field(max_length=1000)] = ""
    """Your password, if you have one."""


@dataclass(frozen=True, slots=True)
class DeletedAccount:
    """What stays of a deleted account."""

    __pydantic_config__ = RECORD
    pseudonym: Annotated[str, Field(examples=["Deleted user z3x9"])]
