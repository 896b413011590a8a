"""Request models for moderating a season, with the bounds of each value."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from ladder.field_types import AwareDatetime, Key, Line
from ladder.ids import AgentId
from ladder.moderation import result_search, shared_places

Given = Annotated[Line, Field(min_length=1)]
Reason = Annotated[Line, Field(min_length=1, description="one sentence, stored in the audit log")]


class DisqualificationRequest(BaseModel):
    """The subject of a disqualification, and the reason."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"subject": "ent_01j8x6m3c2k4v9q0w7r5t1y8z3", "reason": "It colludes with another."}
            ]
        },
    )
    subject: Annotated[Key, Field(description="id of an entry, an agent or a team")]
    reason: Reason


class SharedPlaceRequest(BaseModel):
    """Teams that shall share one place, and the reason."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "teams": ["tea_01j8x6m3c2k4v9q0w7r5t1y8z3", "tea_01j8x6m3c2k4v9q0w7r5t1y8z4"],
                    "reason": "They entered copies of one agent.",
                }
            ]
        },
    )
    teams: Annotated[
        list[Key],
        Field(min_length=2, max_length=shared_places.MOST_TEAMS, description="ids of the teams"),
    ]
    reason: Reason


class SeparationRequest(BaseModel):
    """The reason to give teams their own places again."""

    model_config = ConfigDict(extra="forbid")
    reason: Reason


class Predicate(BaseModel):
    """Conditions on matches; a match must meet all given ones, and at least one is required."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"node": "node-7"}]})
    worker: Annotated[Given | None, Field(description="worker that reported the result")] = None
    node: Annotated[Given | None, Field(description="node that played the match")] = None
    machine: Annotated[
        Given | None, Field(description="machine that joined and played the match: name or id")
    ] = None
    image_digest: Given | None = None
    rules_digest: Given | None = None
    since: Annotated[AwareDatetime | None, Field(description="finished then or later")] = None
    until: Annotated[AwareDatetime | None, Field(description="finished before")] = None
    agent: Annotated[Key | None, Field(description="id of an agent in the match")] = None
    verdict: Annotated[
        Literal["DONE", "ERROR", "INVALID", "TIMEOUT"] | None,
        Field(description="verdict of a seat; of the agent's seat, if an agent is given"),
    ] = None
    fault: Annotated[
        Literal["agent", "worker", "host", "game"] | None,
        Field(
            description="`agent`: a seat lost by its own fault; otherwise who caused a failed"
            " earlier attempt"
        ),
    ] = None

    def to_domain_predicate(self) -> result_search.Predicate:
        given = self.model_dump()
        return result_search.Predicate(
            **{**given, "agent": None if self.agent is None else AgentId(self.agent)}
        )


class PreviewRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")
    predicate: Predicate


class NewRejudgement(BaseModel):
    model_config = ConfigDict(extra="forbid")
    predicate: Predicate
    reason: Reason


class Cancellation(BaseModel):
    model_config = ConfigDict(extra="forbid")
    reason: Reason
