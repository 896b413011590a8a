"""Request models for accounts and tokens, with the bounds of each value."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from ladder.field_types import AwareDatetime, Name, RequestModel

Scope = Literal["read", "agents:write", "scrims:write", "leagues:write", "admin"]


class NewToken(RequestModel):
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"label": "laptop", "scopes": ["read", "agents:write"]}]},
    )
    label: Name
    scopes: Annotated[list[Scope], Field(min_length=1, max_length=5)]
    expires_at: AwareDatetime | None = None
    """At most the expiry of the token that creates it."""


class NewPerson(BaseModel):
    """A new person who proved an identity or an address already."""

    model_config = ConfigDict(extra="forbid")
    name: Name
    code: Annotated[
        str,
        Field(max_length=200, description="an invitation code of a league, if it is required"),
    ] = ""


class SignUp(NewPerson):
    """A new person with a password."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"name": "Ada", "password": "long and unusual"}]},
    )
    password: Annotated[str, Field(max_length=1000, description="10 to 200 characters")]
