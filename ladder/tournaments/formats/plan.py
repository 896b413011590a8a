"""Describes a tournament: a chain of stages, each with a format. Stored as JSON."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, ClassVar

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from ladder.errors import Invalid

Count = Annotated[int, Meta(ge=0, le=4096)]
Seats = Annotated[int, Meta(ge=3, le=64)]
Rounds = Annotated[int, Meta(ge=1, le=64)]
Games = Annotated[int, Meta(ge=1, le=64)]


class TieBreak(StrEnum):
    """What orders equal scores, in the order that the plan declares. The seed is always last."""

    DIRECT = "direct encounter"
    """The points of the tied entrants against each other, if all of them met."""
    BUCHHOLZ = "Buchholz"
    """The sum of the opponents' scores. A pairing without games counts as the own score."""
    SONNEBORN_BERGER = "Sonneborn-Berger"
    """The scores of beaten opponents, and half of those of drawn ones."""
    WINS = "wins"
    """Won pairings."""
    GAME_POINTS = "game points"
    """Points of all games."""
    MORE_GAMES = "more games"
    """A play-off, only where the tie decides the first place or who goes on."""


class Series(Struct, frozen=True, forbid_unknown_fields=True):
    """Games of two entrants in mirrored pairs: the same game twice, with the seats changed."""

    pairs: Games = 1
    stop_when_decided: bool = True
    """False plays all pairs."""
    more_pairs: Annotated[int, Meta(ge=0, le=20)] = 2
    """Further pairs, one by one, if a winner is needed and all pairs are level."""


class HeatRules(Struct, frozen=True, forbid_unknown_fields=True):
    """Games of many entrants. In each game of a heat, every entrant moves on by one seat."""

    games: Games = 1
    points: tuple[Annotated[float, Meta(ge=0, le=1000)], ...] = ()
    """For each place, best first; empty: seats - 1 down to 0. Ties share."""


class _Stage(Struct, frozen=True, forbid_unknown_fields=True, tag_field="format"):
    advance: Count = 0
    """How many go on to the next stage (from groups: of each group); 0 in the last stage."""


class _Duels(_Stage, frozen=True, forbid_unknown_fields=True):
    series: Series = Series()


_TABLE = (TieBreak.DIRECT, TieBreak.SONNEBORN_BERGER, TieBreak.WINS, TieBreak.GAME_POINTS)
_SWISS = (TieBreak.BUCHHOLZ, TieBreak.SONNEBORN_BERGER, TieBreak.WINS, TieBreak.GAME_POINTS)
TieBreaks = Annotated[tuple[TieBreak, ...], Meta(max_length=len(TieBreak))]


class RoundRobin(_Duels, frozen=True, forbid_unknown_fields=True, tag="round_robin"):
    """Everybody meets everybody, by Berger's tables."""

    cycles: Annotated[int, Meta(ge=1, le=2)] = 1
    tie_breaks: TieBreaks = _TABLE


class Groups(_Duels, frozen=True, forbid_unknown_fields=True, tag="groups"):
    """A round robin in each of several groups."""

    groups: Annotated[int, Meta(ge=2, le=64)] = 2
    cycles: Annotated[int, Meta(ge=1, le=2)] = 1
    tie_breaks: TieBreaks = _TABLE


class Swiss(_Duels, frozen=True, forbid_unknown_fields=True, tag="swiss"):
    """Equal scores meet, nobody twice: the Dutch system of FIDE."""

    rounds: Rounds = 5
    tie_breaks: TieBreaks = _SWISS


class Gauntlet(_Duels, frozen=True, forbid_unknown_fields=True, tag="gauntlet"):
    """The first entrants each meet all the others."""

    heads: Annotated[int, Meta(ge=1, le=16)] = 1
    tie_breaks: TieBreaks = (TieBreak.WINS, TieBreak.GAME_POINTS)
    by_mean: bool | UnsetType = UNSET
    """Whether entrants rank by score per pairing. The service sets it. Unset in tournaments that an
    older version locked; they rank by the sum of scores.
    """


class SingleElimination(_Duels, frozen=True, forbid_unknown_fields=True, tag="single_elimination"):
    """Who loses is out."""

    third_place: bool = False
    """Whether the losers of the semi-finals play for the third place."""


class DoubleElimination(_Duels, frozen=True, forbid_unknown_fields=True, tag="double_elimination"):
    """Who loses twice is out."""

    reset: bool = True
    """Whether a second final is played if the first one is the winner's first loss."""


class Heats(_Stage, frozen=True, forbid_unknown_fields=True, tag="heats"):
    """Rounds of heats, in which everybody meets everybody as evenly as possible."""

    heat: HeatRules = HeatRules()
    seats: Seats = 4
    rounds: Rounds = 5


class Solo(_Stage, frozen=True, forbid_unknown_fields=True, tag="solo"):
    """A game for one: in each round all play the same seeds, and the lowest rewards are cut."""

    cuts: tuple[Count, ...] = ()
    """How many are left after each round but the last."""
    games: Games = 3
    """Games of each entrant in a round."""


Duels = RoundRobin | Groups | Swiss | Gauntlet | SingleElimination | DoubleElimination
Stage = Duels | Heats | Solo


class Plan(Struct, frozen=True, forbid_unknown_fields=True):
    """A chain of stages; the entrants who go on from one form the field of the next."""

    stages: Annotated[tuple[Stage, ...], Meta(min_length=1, max_length=4)]

    MOST_ENTRANTS: ClassVar[int] = 1024


def with_means(plan: Plan, by_mean: bool) -> Plan:
    """Returns the plan; its gauntlets rank by means if ``by_mean``, else by sums."""
    return Plan(
        tuple(
            msgspec.structs.replace(stage, by_mean=by_mean or UNSET)
            if isinstance(stage, Gauntlet)
            else stage
            for stage in plan.stages
        )
    )


def decode_plan(text: bytes | str) -> Plan:
    """Reads a plan from JSON. Raises Invalid, which names the field."""
    try:
        return msgspec.json.decode(text, type=Plan)
    except msgspec.ValidationError as error:
        message, _, path = str(error).partition(" - at `$")
        raise Invalid(f"plan{path.rstrip('`')}", message) from None
    except msgspec.DecodeError as error:
        raise Invalid("plan", f"is not JSON: {error}") from None


def encode_plan(plan: Plan) -> bytes:
    """Writes a plan as JSON; equal plans give equal bytes."""
    return msgspec.json.encode(plan)
