"""Describes a tournament, a chain of stages with a format each, and checks it. Stored as JSON."""

from __future__ import annotations

from enum import StrEnum
from itertools import pairwise
from typing import Annotated, ClassVar, Final

import msgspec
from msgspec import Meta, Struct

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


TEAM_RULE: Final = "agents of one team do not meet if another pairing is possible"
MEAN_RULE: Final = (
    "score and tie-breaks are divided by the number of pairings; who leaves stands last"
)
SOLO_RULE: Final = "the highest reward wins; the draw orders equal rewards"
LATER_SOLO_RULE: Final = "the highest reward wins; equal rewards by place in the stage before"


def check_plan(plan: Plan, size: int, seats: int) -> None:
    """Raises Invalid if this many entrants of a game with ``seats`` seats cannot play the plan."""
    if not 2 <= size <= Plan.MOST_ENTRANTS:
        raise Invalid("entrants", f"must be 2 to {Plan.MOST_ENTRANTS}; there are {size}")
    left = size
    for number, stage in enumerate(plan.stages):
        last = number == len(plan.stages) - 1
        where = f"plan.stages[{number}]"
        _check_seats(stage, seats, where)
        needed = smallest_field(stage)
        if left < needed:
            raise Invalid(where, f"needs {needed} entrants; only {left} reach it")
        _check_rounds(stage, left, where)
        left = _check_advance(stage, left, last, where)


def smallest_field(stage: Stage) -> int:
    """Returns how many entrants a stage needs at least."""
    match stage:
        case Groups(groups=groups):
            return 2 * groups
        case Gauntlet(heads=heads):
            return heads + 1
        case Heats(seats=seats):
            return seats
        case Solo():
            return 1
        case _:
            return 2


def _check_seats(stage: Stage, seats: int, where: str) -> None:
    if isinstance(stage, Solo):
        if seats != 1:
            raise Invalid(f"{where}.format", f"solo needs a game of one seat; this has {seats}")
    elif isinstance(stage, Heats):
        if stage.seats != seats:
            raise Invalid(f"{where}.seats", f"must be {seats}, as in the season")
        points = stage.heat.points
        if points and (len(points) != seats or any(a < b for a, b in pairwise(points))):
            raise Invalid(
                f"{where}.heat.points", f"must be {seats} numbers, none larger than the one before"
            )
    elif seats != 2:
        raise Invalid(
            f"{where}.format", f"needs a game of two seats; this has {seats}: choose heats"
        )


def _check_rounds(stage: Stage, size: int, where: str) -> None:
    if isinstance(stage, Swiss) and stage.rounds > size - 1 + size % 2:
        most = size - 1 + size % 2
        raise Invalid(f"{where}.rounds", f"must be at most {most} for {size} entrants")
    if isinstance(stage, Solo) and not all(a > b >= 1 for a, b in pairwise((size, *stage.cuts))):
        raise Invalid(f"{where}.cuts", f"must be falling numbers below {size}, each at least 1")


def _check_advance(stage: Stage, size: int, last: bool, where: str) -> int:
    """Returns how many entrants come to the next stage."""
    if last:
        if stage.advance:
            raise Invalid(f"{where}.advance", "must be 0 in the last stage")
        if isinstance(stage, Groups):
            raise Invalid(f"{where}.format", "groups need a stage after them; add a knock-out")
        return 0
    field = size // stage.groups if isinstance(stage, Groups) else size
    if not 1 <= stage.advance <= field:
        raise Invalid(f"{where}.advance", f"must be 1 to {field}: how many go on")
    return stage.advance * (stage.groups if isinstance(stage, Groups) else 1)


def describe_plan(plan: Plan) -> list[str]:
    """Returns one sentence for each stage."""
    return [_describe_stage(stage, number) for number, stage in enumerate(plan.stages, 1)]


def _describe_stage(stage: Stage, number: int) -> str:
    parts = [_describe_format(stage, number)]
    if isinstance(stage, Heats):
        parts.append(_describe_heat(stage.heat))
    elif not isinstance(stage, Solo):
        needs_winner = isinstance(stage, SingleElimination | DoubleElimination)
        parts.append(_describe_series(stage.series, needs_winner))
    breaks: tuple[TieBreak, ...] = getattr(stage, "tie_breaks", ())
    if breaks:
        parts.append(f"equal scores by {', '.join([*breaks, 'seed'])}")
    if stage.advance:
        where = " of each group" if isinstance(stage, Groups) else ""
        parts.append(f"the first {stage.advance}{where} go on")
    return "; ".join(parts) + "."


def _describe_format(stage: Stage, number: int) -> str:
    match stage:
        case RoundRobin(cycles=cycles):
            return "Double round robin" if cycles == 2 else "Round robin"
        case Groups(groups=groups, cycles=cycles):
            return f"{groups} groups, {'double ' if cycles == 2 else ''}round robin in each"
        case Swiss(rounds=rounds):
            return f"Swiss, {_counted(rounds, 'round')}; {TEAM_RULE}"
        case Gauntlet(heads=heads):
            subject = (
                "the first entrant meets" if heads == 1 else f"the first {heads} entrants meet"
            )
            return f"Gauntlet: {subject} each of the others; {MEAN_RULE}"
        case SingleElimination(third_place=third):
            return "Single elimination" + (" with a match for the third place" if third else "")
        case DoubleElimination(reset=reset):
            return "Double elimination" + (", a second final if needed" if reset else "")
        case Heats(rounds=rounds, seats=seats):
            return f"{_counted(rounds, 'round')} of heats of {seats}"
        case Solo(cuts=cuts):
            left = "".join(f", then {cut} left" for cut in cuts)
            rule = SOLO_RULE if number == 1 else LATER_SOLO_RULE
            return f"All play the same random seeds{left}; {rule}"


def _describe_series(series: Series, needs_winner: bool) -> str:
    count = series.pairs
    pairs = "one mirrored pair" if count == 1 else f"{count} mirrored pairs"
    text = f"best of {pairs}" if series.stop_when_decided and count > 1 else f"{pairs} of games"
    if needs_winner:
        more = f"up to {series.more_pairs} more pairs, then " if series.more_pairs else ""
        text += f"; if level, {more}the better seed goes on"
    return text


def _describe_heat(heat: HeatRules) -> str:
    return "one game a heat" if heat.games == 1 else f"{heat.games} games a heat"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
