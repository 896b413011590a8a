"""Turns a few choices of a form or a command into a plan."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field


class FormatChoice(StrEnum):
    """Usual tournaments. An API request can describe any other chain of stages."""

    SINGLE = "single-elimination"
    DOUBLE = "double-elimination"
    SWISS = "swiss"
    SWISS_FINALS = "swiss-finals"
    """Swiss, then the best in single elimination."""
    ROUND_ROBIN = "round-robin"
    GROUPS = "groups-finals"
    """Groups, then the best of each in single elimination."""
    GAUNTLET = "gauntlet"
    """The best seed meets everybody."""
    HEATS = "heats"
    """Rounds of heats, for more than two seats."""
    HEATS_FINAL = "heats-final"
    """Rounds of heats, then a final of one heat."""
    SOLO = "solo"
    """A game for one: all play the same seeds."""


BY_SEATS: dict[int, tuple[FormatChoice, ...]] = {
    1: (FormatChoice.SOLO,),
    2: (
        FormatChoice.SINGLE,
        FormatChoice.DOUBLE,
        FormatChoice.SWISS,
        FormatChoice.SWISS_FINALS,
        FormatChoice.ROUND_ROBIN,
        FormatChoice.GROUPS,
        FormatChoice.GAUNTLET,
    ),
    3: (FormatChoice.HEATS_FINAL, FormatChoice.HEATS),
}
"""Formats by the seats of a match; three stands for more."""


class PlanChoice(BaseModel):
    """A usual tournament. Fields that the format does not use are ignored."""

    model_config = ConfigDict(extra="forbid")
    format: FormatChoice
    pairs: Annotated[int, Field(ge=1, le=32)] = 2
    """Mirrored pairs of games in each series; games of each heat or round."""
    rounds: Annotated[int, Field(ge=1, le=64)] = 5
    top: Annotated[int, Field(ge=1, le=512)] = 8
    """How many go on to the finals; from groups, of each group."""
    groups: Annotated[int, Field(ge=2, le=64)] = 4
    reset: bool = False
    """Whether double elimination has a second final."""
    third_place: bool = False


def formats_for(seats: int) -> tuple[FormatChoice, ...]:
    """The formats for matches with this number of seats."""
    return BY_SEATS[min(seats, 3)]


def plan_of_choice(choice: PlanChoice, seats: int) -> dict[str, Any]:
    """The plan as the API takes it."""
    series = {"series": {"pairs": choice.pairs}}
    heat = {"heat": {"games": choice.pairs}, "seats": seats}
    finals = {"format": "single_elimination", "third_place": choice.third_place, **series}
    stages: dict[FormatChoice, list[dict[str, Any]]] = {
        FormatChoice.SINGLE: [finals],
        FormatChoice.DOUBLE: [{"format": "double_elimination", "reset": choice.reset, **series}],
        FormatChoice.SWISS: [{"format": "swiss", "rounds": choice.rounds, **series}],
        FormatChoice.SWISS_FINALS: [
            {"format": "swiss", "rounds": choice.rounds, "advance": choice.top, **series},
            finals,
        ],
        FormatChoice.ROUND_ROBIN: [{"format": "round_robin", **series}],
        FormatChoice.GROUPS: [
            {"format": "groups", "groups": choice.groups, "advance": choice.top, **series},
            finals,
        ],
        FormatChoice.GAUNTLET: [{"format": "gauntlet", **series}],
        FormatChoice.HEATS: [{"format": "heats", "rounds": choice.rounds, **heat}],
        FormatChoice.HEATS_FINAL: [
            {"format": "heats", "rounds": choice.rounds, "advance": seats, **heat},
            {"format": "heats", "rounds": 1, **heat},
        ],
        FormatChoice.SOLO: [{"format": "solo", "games": choice.pairs}],
    }
    return {"stages": stages[choice.format]}
