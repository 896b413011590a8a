"""Checks whether a plan suits a game and a number of entrants, and says it in words."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from ladder.errors import Invalid
from ladder.tournaments.formats.plan import (
    DoubleElimination,
    Gauntlet,
    Groups,
    HeatRules,
    Heats,
    Plan,
    RoundRobin,
    Series,
    SingleElimination,
    Solo,
    Stage,
    Swiss,
    TieBreak,
)

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
        each = " of each group" if isinstance(stage, Groups) else ""
        parts.append(f"the first {stage.advance}{each} go on")
    return "; ".join(parts) + "."


def _describe_format(stage: Stage, number: int) -> str:
    match stage:
        case RoundRobin(cycles=cycles):
            return "Double round robin" if cycles == 2 else "Round robin"
        case Groups(groups=groups, cycles=cycles):
            return f"{groups} groups, {'double ' if cycles == 2 else ''}round robin in each"
        case Swiss(rounds=rounds):
            return f"Swiss, {_counted(rounds, 'round')}; {TEAM_RULE}"
        case Gauntlet(heads=heads, by_mean=by_mean):
            who = "the first entrant meets" if heads == 1 else f"the first {heads} entrants meet"
            rule = f"Gauntlet: {who} each of the others"
            return f"{rule}; {MEAN_RULE}" if by_mean else rule
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
