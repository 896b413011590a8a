"""Orders entrants by score and by the declared tie-breaks, and explains each step in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ladder.tournaments.formats.plan import TieBreak
from ladder.tournaments.formats.records import By, Pairing


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

    def score(self, entrant: int) -> float:
        """Returns the sum of an entrant's scores."""
        return sum(each.score for each in self.duels[entrant])


@dataclass(frozen=True, slots=True)
class Ranked:
    """An entrant in its place."""

    entrant: int
    values: tuple[tuple[str, str], ...]
    explanation: str


def read_record(field: Iterable[int], pairings: Iterable[Pairing]) -> Record:
    """Collects finished pairings; those of the section ``play-off`` count apart."""
    duels: dict[int, list[Duel]] = {each: [] for each in field}
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
    return Record(duels, play_off)


def order_by_tie_breaks(
    entrants: Sequence[int], record: Record, tie_breaks: Sequence[TieBreak]
) -> list[Ranked]:
    """Returns the entrants, given in seed order, in the order of their table."""
    ranked: list[Ranked] = []
    steps: list[_Step] = [_Step("score", _score_values), *(_step(each) for each in tie_breaks)]
    _split(list(entrants), record, steps, ranked)
    shown = [
        (each.value, _VALUES[each](entrants, record))
        for each in tie_breaks
        if each not in (TieBreak.DIRECT, TieBreak.MORE_GAMES)
    ]
    ranked = [
        replace(
            each,
            values=tuple((name, f"{values[each.entrant]:g}") for name, values in shown),
        )
        for each in ranked
    ]
    if ranked:
        ranked[-1] = replace(ranked[-1], explanation="")
    return ranked


def tied_groups(
    entrants: Sequence[int], record: Record, tie_breaks: Sequence[TieBreak]
) -> list[list[int]]:
    """Returns the entrants in groups that these tie-breaks leave equal, best group first."""
    groups = [list(entrants)]
    for step in [_Step("score", _score_values), *(_step(each) for each in tie_breaks)]:
        groups = [part for group in groups for part in _parts(group, step.values(group, record))]
    return groups


@dataclass(frozen=True, slots=True)
class _Step:
    name: str
    values: Callable[[Sequence[int], Record], Mapping[int, float]]


def _step(tie_break: TieBreak) -> _Step:
    return _Step(tie_break.value, _VALUES[tie_break])


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
            text = _explain(step.name, values[part[0]], values[parts[n + 1][0]])
            ranked[-1] = replace(ranked[-1], explanation=text)


def _explain(name: str, value: float, below: float) -> str:
    if name == "score":
        return f"score {value:g}; the next has {below:g}"
    if name == TieBreak.DIRECT:
        return f"same score; better in direct encounter, {value:g} to {below:g}"
    return f"same score; better {name} {value:g}; the next has {below:g}"


def _parts(group: Sequence[int], values: Mapping[int, float]) -> list[list[int]]:
    """Divides a group by value, highest first; keeps the order among equal ones."""
    if not values:
        return [list(group)]
    levels = sorted({values[each] for each in group}, reverse=True)
    return [[each for each in group if values[each] == level] for level in levels]


def _score_values(group: Sequence[int], record: Record) -> Mapping[int, float]:
    return {each: record.score(each) for each in group}


def _direct(group: Sequence[int], record: Record) -> Mapping[int, float]:
    """Points against each other; nothing unless all of the group met each other."""
    members = set(group)
    points: dict[int, float] = {}
    for each in group:
        against = [duel for duel in record.duels[each] if duel.opponent in members]
        if {duel.opponent for duel in against} != members - {each}:
            return {}
        points[each] = sum(duel.score for duel in against)
    return points


def _buchholz(group: Sequence[int], record: Record) -> Mapping[int, float]:
    return {
        each: sum(
            record.score(duel.opponent)
            if duel.played and duel.opponent is not None
            else record.score(each)
            for duel in record.duels[each]
        )
        for each in group
    }


def _sonneborn_berger(group: Sequence[int], record: Record) -> Mapping[int, float]:
    return {
        each: sum(
            duel.score * record.score(duel.opponent)
            for duel in record.duels[each]
            if duel.played and duel.opponent is not None
        )
        for each in group
    }


def _wins(group: Sequence[int], record: Record) -> Mapping[int, float]:
    return {
        each: float(sum(duel.score == 1.0 and duel.played for duel in record.duels[each]))
        for each in group
    }


def _game_points(group: Sequence[int], record: Record) -> Mapping[int, float]:
    return {each: sum(duel.points for duel in record.duels[each]) for each in group}


def _play_off(group: Sequence[int], record: Record) -> Mapping[int, float]:
    return {each: record.play_off.get(each, 0.0) for each in group} if record.play_off else {}


_VALUES: dict[TieBreak, Callable[[Sequence[int], Record], Mapping[int, float]]] = {
    TieBreak.DIRECT: _direct,
    TieBreak.BUCHHOLZ: _buchholz,
    TieBreak.SONNEBORN_BERGER: _sonneborn_berger,
    TieBreak.WINS: _wins,
    TieBreak.GAME_POINTS: _game_points,
    TieBreak.MORE_GAMES: _play_off,
}
