"""Records of leagues and seasons, which the API answers."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final

from pydantic import ConfigDict, Field

from ladder.enums import OWN_SEAT, Json
from ladder.ids import LeagueId, SeasonId
from ladder.leagues.measures import Measure
from ladder.leagues.medals import MedalRules
from ladder.leagues.settings import LeagueSettings, Medals, SeasonSettings
from ladder.people.resources import LeagueResource

HIDDEN: Final = Field(exclude=True)
"""Marks a field that no answer has."""
BOUNDS: Final = frozenset(
    ("default", "minimum", "maximum", "minLength", "maxLength", "pattern", "x-group")
)


def without_bounds(schema: dict[str, Any]) -> None:
    """Answers state types. Bounds and defaults belong to requests."""
    for field in schema["properties"].values():
        for part in (field, *field.get("anyOf", ())):
            for name in BOUNDS & part.keys():
                del part[name]


ANSWER: Final = ConfigDict(
    json_schema_serialization_defaults_required=True, json_schema_extra=without_bounds
)


class League(LeagueSettings):
    model_config = ANSWER
    id: Annotated[LeagueId, Field(examples=["lea_01j8x6m3c2k4v9q0w7r5t1y8z3"])]
    slug: Annotated[str, Field(examples=["geese"])]
    game: Annotated[str, Field(examples=["hungry_geese"])]
    state: Annotated[str, Field(examples=["open"])]
    created_at: datetime
    remote_agents: Annotated[bool, HIDDEN]
    """Whether a season has taken remote agents, so the terms mention them."""


class SeasonRules(SeasonSettings):
    """What a season fixes when it begins."""

    configuration: dict[str, Json]
    clock: dict[str, Json]
    seats: int
    memory_mb: int = 1024
    mu0: float = 600.0
    sigma0: float = 200.0
    beta: float = 150.0
    tau: float = 0.0
    draw_probability: float = 0.05
    fault_rule: str = OWN_SEAT
    score_offset: Annotated[float, HIDDEN] = 0.0
    max_attempts: Annotated[int, HIDDEN] = 3
    lease_seconds: Annotated[float, HIDDEN] = 15.0
    queue_seconds: Annotated[float, HIDDEN] = 3600.0
    cadence_seconds: Annotated[float, HIDDEN] = 60.0
    max_in_flight: Annotated[int, HIDDEN] = 64
    closes_at: datetime | None = None
    ends_at: datetime | None = None
    measures: tuple[Measure, ...] = ()
    """Measures that rank a season of one seat; empty if entries are rated."""
    """Version of the rules of limits, strikes, representatives, medal counts and faults."""


class Season(SeasonRules):
    model_config = ANSWER
    id: Annotated[SeasonId, Field(examples=["sea_01j8x6m3c2k4v9q0w7r5t1y8z3"])]
    league_id: LeagueId
    number: int
    game: str
    medals: Medals
    """The medal rules, by rank or by official score."""
    opens_at: datetime
    state: Annotated[str, Field(examples=["open"])]
    revision: int
    """Grows with each change of the leaderboard."""
    accepted_no: Annotated[int, HIDDEN]
    rated_no: Annotated[int, HIDDEN]
    official_version: Annotated[int, HIDDEN]
    """Version of the official standings; 0 before the first fit."""

    @property
    def medal_rules(self) -> MedalRules:
        return MedalRules.from_json(self.medals.model_dump())


def league_resource(league: League) -> LeagueResource:
    """Returns the permission resource of a league."""
    return LeagueResource(league.id, league.visibility)
