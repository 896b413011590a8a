"""Writes a Swiss stage as FIDE's Tournament Report File."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

WIN, DRAW, LOSS = "1", "=", "0"
FORFEIT_WIN, FORFEIT_LOSS = "+", "-"
BYE, HALF_BYE, FULL_BYE, ABSENT = "U", "H", "F", "Z"
POINTS: Final = {
    WIN: 10,
    DRAW: 5,
    LOSS: 0,
    FORFEIT_WIN: 10,
    FORFEIT_LOSS: 0,
    BYE: 10,
    HALF_BYE: 5,
    FULL_BYE: 10,
    ABSENT: 0,
}
"""Tenths of a point."""


@dataclass(frozen=True, slots=True)
class RoundOf:
    """What a player did in a round."""

    opponent: int
    """0 without an opponent."""
    color: str
    """``w`` (the first seat in the first game), ``b`` or ``-``."""
    result: str
    """A code of the format, such as ``1``, ``=``, ``+`` or ``U``."""


@dataclass(frozen=True, slots=True)
class Player:
    """A line of the report. Its number is its place in the report, from 1."""

    name: str
    rounds: tuple[RoundOf, ...]
    rank: int

    @property
    def points(self) -> int:
        """Tenths of a point."""
        return sum(POINTS[played.result] for played in self.rounds)


@dataclass(frozen=True)
class Report:
    """A Swiss tournament."""

    name: str
    rounds: int
    """Planned number of rounds."""
    players: tuple[Player, ...]
    white_first: bool = True
    """Color of player 1 in the first round."""
    forbidden: frozenset[tuple[int, int]] = field(default_factory=frozenset)


def write_report(report: Report) -> str:
    """Returns the text of the report (TRF16 with the extensions of JaVaFo)."""
    lines = [f"012 {_clean(report.name)}", f"062 {len(report.players)}", "092 Individual: Dutch"]
    lines += [_player_line(n, player) for n, player in enumerate(report.players, 1)]
    lines += [f"XXR {report.rounds}", f"XXC {'white1' if report.white_first else 'black1'}"]
    lines += [f"XXP {first} {second}" for first, second in sorted(report.forbidden)]
    return "\n".join(lines) + "\n"


def _player_line(number: int, player: Player) -> str:
    head = f"001 {number:4d}      {_clean(player.name)[:33]:33s}".ljust(80)
    points = f"{player.points // 10}.{player.points % 10}"
    line = f"{head}{points:>4s} {player.rank:4d}"
    for played in player.rounds:
        opponent = f"{played.opponent:4d}" if played.opponent else "0000"
        line += f"  {opponent} {played.color} {played.result}"
    return line


def _clean(name: str) -> str:
    """Keeps the columns: no control character, and spaces for everything that breaks lines."""
    return " ".join("".join(c if c.isprintable() else " " for c in name).split()) or "-"


def renumber(
    pairs: Sequence[tuple[int, int]], numbers: Mapping[int, int]
) -> frozenset[tuple[int, int]]:
    """Returns pairs under other numbers; leaves out pairs with an unknown member."""
    return frozenset(
        (min(numbers[first], numbers[second]), max(numbers[first], numbers[second]))
        for first, second in pairs
        if first in numbers and second in numbers
    )
