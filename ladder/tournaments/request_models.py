"""Request models for tournaments, with the bounds of each value."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from ladder.enums import Embargo
from ladder.field_types import AwareDatetime, Key, Line, Name, Text
from ladder.tournaments.records import EntryRule


class NewTournament(BaseModel):
    """A tournament to create. It plays with the rules of one season of the league."""

    model_config = ConfigDict(extra="forbid")
    title: Name
    description: Text = ""
    season: Annotated[Key | None, Field(description="default: the league's current season")] = None
    plan: Annotated[
        dict[str, Any],
        Field(
            description="stages, each with its format; docs/how-to/hold-a-tournament.md",
            examples=[{"stages": [{"format": "single_elimination"}]}],
        ),
    ]
    entry_rule: EntryRule = EntryRule.OPEN
    most_entrants: Annotated[int, Field(ge=2, le=1024)] = 64
    agents_per_team: Annotated[int, Field(ge=1, le=16)] = 1
    remote_agents: bool = False
    away_minutes: Annotated[float, Field(ge=0, le=60)] = 5.0
    check_in_minutes: Annotated[float, Field(ge=0, le=1440)] = 0.0
    locks_at: Annotated[AwareDatetime | None, Field(description="default: in 24 hours")] = None
    starts_at: Annotated[AwareDatetime | None, Field(description="default: at the lock")] = None
    round_minutes: Annotated[float, Field(ge=1, le=10080)] = 60.0
    embargo: Embargo = Embargo.PUBLIC
    is_draft: Annotated[bool, Field(description="false: registration begins at once")] = False


TournamentActName = Literal["open", "lock", "start", "pause", "resume", "cancel"]


class TournamentAct(BaseModel):
    """An act of a host on a tournament."""

    model_config = ConfigDict(extra="forbid")
    act: TournamentActName
    reason: Line = ""


class NewEntrant(BaseModel):
    """An agent to enter; by a host of the league also one to invite."""

    model_config = ConfigDict(extra="forbid")
    agent: Key


class EntrantAct(BaseModel):
    """An act of a team on its entrant."""

    model_config = ConfigDict(extra="forbid")
    act: Literal["check-in", "withdraw"]


class EntrantDisqualification(BaseModel):
    """Why a host disqualifies an entrant. The entrants read it."""

    model_config = ConfigDict(extra="forbid")
    reason: Annotated[Line, Field(min_length=1)]


PAIRING = r"^\d{1,3}\.\d{1,5}\.\d{1,5}$"


class GameRejudgement(BaseModel):
    """Games of a pairing to judge again."""

    model_config = ConfigDict(extra="forbid")
    pairing: Annotated[str, Field(pattern=PAIRING, examples=["1.2.3"])]
    game: Annotated[int | None, Field(ge=1, le=4096, description="default: all that count")] = None
    reason: Annotated[Line, Field(min_length=1)]


class RejudgementDecision(BaseModel):
    """What becomes of the new results of a pairing."""

    model_config = ConfigDict(extra="forbid")
    pairing: Annotated[str, Field(pattern=PAIRING, examples=["1.2.3"])]
    act: Literal["apply", "drop"]


class Reveal(BaseModel):
    """Who may see matches from now on."""

    model_config = ConfigDict(extra="forbid")
    embargo: Embargo
    pairing: Annotated[
        str | None,
        Field(pattern=PAIRING, description="default: all pairings so far"),
    ] = None


class NewShow(BaseModel):
    """A show: a page for a screen, at a secret address."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"hours": 12}]})
    hours: Annotated[float, Field(ge=0.1, le=336, description="how long the address works")] = 12.0
    scene_seconds: Annotated[
        float | None,
        Field(
            ge=1,
            le=3600,
            description="the page goes on by itself after this time; default: by key alone",
        ),
    ] = None
