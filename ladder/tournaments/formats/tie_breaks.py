"""Orders entrants by score and by the declared tie-breaks, and explains each step in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Final

from ladder.tournaments.formats.plan import Gauntlet, TieBreak
from ladder.tournaments.formats.records import (
    By,
    Pairing,
    decimal_text,
    texts_apart,
)
from ladder.tournaments.formats.stage_run import StageRun
from ladder.tournaments.mean_names import SCORE_A_PAIRING

Value = float | Fraction
"""A sum is a float, and a mean an exact fraction."""
WITHOUT_COLUMN: Final = (TieBreak.DIRECT, TieBreak.MORE_GAMES)
"""Tie-breaks that are never divided and have no column."""


@dataclass(frozen=True)
class Duel:
    """A finished pairing of two entrants, or a bye, from the side of one of them."""

    opponent: int | None
    """None: a bye."""
    score: float
    points: float
    played: bool
    """False for a bye and a walk-over."""


@dataclass(frozen=True)
class Record:
    """The finished pairings of a table."""

    duels: Mapping[int, Sequence[Duel]]
    play_off: Mapping[int, float]
    """Scores of the play-off; empty without one."""
    by_mean: bool = False
    """Whether means per pairing order the entrants, because some have more pairings."""

    @cached_property
    def scores(self) -> Mapping[int, Value]:
        """The sum or mean of each entrant's scores."""
        return {
            entrant: self.total(entrant, (duel.score for duel in duels))
            for entrant, duels in self.duels.items()
        }

    def total(self, entrant: int, values: Iterable[Value]) -> Value:
        """Returns the sum of these values, one for each pairing of the entrant, or their mean."""
        if not self.by_mean:
            return sum(values)
        total = sum((Fraction(value) for value in values), Fraction())
        return total / max(1, len(self.duels[entrant]))

    def name(self, value: str) -> str:
        """Returns the name of a sum or mean."""
        return f"{value} per pairing" if self.by_mean else value


@dataclass(frozen=True, slots=True)
class Ranked:
    """An entrant in its place."""

    entrant: int
    values: tuple[tuple[str, str], ...]
    explanation: str


def read_record(run: StageRun, field: Iterable[int], pairings: Iterable[Pairing]) -> Record:
    """Collects finished pairings; those of the section ``play-off`` count apart."""
    duels: dict[int, list[Duel]] = {member: [] for member in field}
    play_off: Counter[int] = Counter()
    for pairing in pairings:
        outcome = pairing.outcome
        if outcome is None:
            continue
        for n, entrant in enumerate(outcome.order):
            if pairing.section == "play-off":
                play_off[entrant] += outcome.scores[n]  # type: ignore[assignment]
                continue
            other = outcome.order[1 - n] if len(outcome.order) == 2 else None
            played = outcome.by not in (By.BYE, By.WALK_OVER)
            duels[entrant].append(Duel(other, outcome.scores[n], outcome.points[n], played))
    return Record(duels, play_off, isinstance(run.stage, Gauntlet))


def order_by_tie_breaks(
    entrants: Sequence[int], record: Record, tie_breaks: Sequence[TieBreak]
) -> list[Ranked]:
    """Returns the entrants, given in seed order, in the order of their table."""
    ranked: list[Ranked] = []
    _split(list(entrants), record, _steps(tie_breaks), ranked)
    shown = [(SCORE_A_PAIRING, record.scores)] if record.by_mean else []
    shown += [
        (record.name(item.value), _VALUES[item](entrants, record))
        for item in tie_breaks
        if item not in WITHOUT_COLUMN
    ]
    ranked = [
        replace(
            item,
            values=tuple((name, _text(values[item.entrant])) for name, values in shown),
        )
        for item in ranked
    ]
    if ranked:
        ranked[-1] = replace(ranked[-1], explanation="")
    return ranked


def tied_groups(
    entrants: Sequence[int], record: Record, tie_breaks: Sequence[TieBreak]
) -> list[list[int]]:
    """Returns the entrants in groups that these tie-breaks leave equal, best group first."""
    groups = [list(entrants)]
    for step in _steps(tie_breaks):
        groups = [part for group in groups for part in _parts(group, step.values(group, record))]
    return groups


@dataclass(frozen=True, slots=True)
class _Step:
    name: str
    values: Callable[[Sequence[int], Record], Mapping[int, Value]]


def _steps(tie_breaks: Sequence[TieBreak]) -> list[_Step]:
    by_tie_break = [_Step(tie_break.value, _VALUES[tie_break]) for tie_break in tie_breaks]
    return [_Step("score", _scores), *by_tie_break]


def _split(
    group: list[int],
    record: Record,
    steps: Sequence[_Step],
    ranked: list[Ranked],
) -> None:
    """Adds the group to ``ranked`` in order. Each explanation compares with the next entrant."""
    if not steps or len(group) == 1:
        for entrant in group:
            ranked.append(Ranked(entrant, (), "all equal; better seed"))
        return
    step, *rest = steps
    values = step.values(group, record)
    parts = _parts(group, values)
    for n, part in enumerate(parts):
        _split(part, record, rest, ranked)
        if n + 1 < len(parts):
            text = _explain(record, step.name, values[part[0]], values[parts[n + 1][0]])
            ranked[-1] = replace(ranked[-1], explanation=text)


def _explain(record: Record, name: str, value: Value, below: Value) -> str:
    own, other = _text(value), _text(below)
    if isinstance(value, Fraction) and isinstance(below, Fraction):
        own, other = texts_apart(value, below)
    score = record.name("score")
    if name == "score":
        return f"{score} {own}; the next has {other}"
    if name == TieBreak.DIRECT:
        return f"same {score}; better in direct encounter, {own} to {other}"
    shown = name if name in WITHOUT_COLUMN else record.name(name)
    return f"same {score}; better {shown} {own}; the next has {other}"


def _text(value: Value) -> str:
    return decimal_text(value) if isinstance(value, Fraction) else f"{value:g}"


def _parts(group: Sequence[int], values: Mapping[int, Value]) -> list[list[int]]:
    """Divides a group by value, highest first; keeps the order among equal ones."""
    if not values:
        return [list(group)]
    levels = sorted({values[entrant] for entrant in group}, reverse=True)
    return [[entrant for entrant in group if values[entrant] == level] for level in levels]


def _scores(group: Sequence[int], record: Record) -> Mapping[int, Value]:
    return {entrant: record.scores[entrant] for entrant in group}


def _direct(group: Sequence[int], record: Record) -> Mapping[int, float]:
    """Points against each other; nothing unless all of the group met each other."""
    members = set(group)
    points: dict[int, float] = {}
    for entrant in group:
        against = [duel for duel in record.duels[entrant] if duel.opponent in members]
        if {duel.opponent for duel in against} != members - {entrant}:
            return {}
        points[entrant] = sum(duel.score for duel in against)
    return points


def _buchholz(group: Sequence[int], record: Record) -> Mapping[int, Value]:
    return {
        entrant: record.total(
            entrant,
            (
                record.scores[duel.opponent]
                if duel.played and duel.opponent is not None
                else record.scores[entrant]
                for duel in record.duels[entrant]
            ),
        )
        for entrant in group
    }


def _sonneborn_berger(group: Sequence[int], record: Record) -> Mapping[int, Value]:
    return {
        entrant: record.total(
            entrant,
            (  # the doubled score is a whole number, so fractions stay exact
                int(2 * duel.score) * record.scores[duel.opponent] / 2
                for duel in record.duels[entrant]
                if duel.played and duel.opponent is not None
            ),
        )
        for entrant in group
    }


def _wins(group: Sequence[int], record: Record) -> Mapping[int, Value]:
    return {
        entrant: record.total(
            entrant, (float(duel.score == 1.0 and duel.played) for duel in record.duels[entrant])
        )
        for entrant in group
    }


def _game_points(group: Sequence[int], record: Record) -> Mapping[int, Value]:
    return {
        entrant: record.total(entrant, (duel.points for duel in record.duels[entrant]))
        for entrant in group
    }


def _play_off(group: Sequence[int], record: Record) -> Mapping[int, float]:
    return (
        {entrant: record.play_off.get(entrant, 0.0) for entrant in group} if record.play_off else {}
    )


_VALUES: dict[TieBreak, Callable[[Sequence[int], Record], Mapping[int, Value]]] = {
    TieBreak.DIRECT: _direct,
    TieBreak.BUCHHOLZ: _buchholz,
    TieBreak.SONNEBORN_BERGER: _sonneborn_berger,
    TieBreak.WINS: _wins,
    TieBreak.GAME_POINTS: _game_points,
    TieBreak.MORE_GAMES: _play_off,
}
