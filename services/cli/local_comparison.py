"""Plays the pairs of a comparison on this machine, with the ladder's referee, clock and sandbox."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Final

from estimates import comparison
from estimates.comparison import (
    GameOfPair,
    PairPlan,
    Picture,
    PlayedPair,
    Report,
    Rule,
    RunningComparison,
    plan_pair,
    report_of,
)
from games.episode import first_different_move, to_bytes
from sandbox.errors import HostFault
from sandbox.match import local_match
from sandbox.match.local_match import LocalGame, LocalPlan, LocalResult
from sandbox.match.match_record import PlayedMatch

OLD: Final = 0
NEW: Final = 1
PAIR_ATTEMPTS: Final = 3
"""How often a pair is played at most, if this machine fails."""
TELLING_PAIRS: Final = 5
"""Pairs of which the report names the first different move."""


@dataclass(frozen=True, slots=True)
class LocalComparison:
    """What to compare, and how."""

    plan: LocalPlan
    """Its agents are the old version, the new version, and the opponents."""
    rule: Rule
    seats: int
    out: Path
    """Folder for replays, and for logs of the two versions' faults."""

    @property
    def opponents(self) -> tuple[int, ...]:
        """Index of each opponent among the agents. Without opponents the old version plays."""
        return tuple(range(NEW + 1, len(self.plan.agents))) or (OLD,)


@dataclass(frozen=True, slots=True)
class FirstDifference:
    """The first different move of a pair. Seeds, seats and opponents were the same until then."""

    pair: int
    difference: float
    seat: int
    """From 0."""
    episode: int
    """Position of the episode in its match, from 0; a mirrored match has two."""
    step: int
    """From 1."""
    old_replay: str
    new_replay: str


@dataclass(slots=True)
class PlayedComparison:
    """The pairs so far."""

    running: RunningComparison
    pairs: list[PlayedPair] = field(default_factory=list)
    first_differences: dict[int, FirstDifference] = field(default_factory=dict)
    replayed_pairs: int = 0
    playing_seconds: float = 0.0

    @property
    def report(self) -> Report:
        """The report so far."""
        return report_of(self.pairs, self.running.now, self.running.rule, self.replayed_pairs)

    @property
    def telling(self) -> list[FirstDifference]:
        """First different moves of the pairs with the largest differences."""
        telling = comparison.most_telling(self.pairs, TELLING_PAIRS)
        firsts = (self.first_differences.get(pair.number) for pair in telling)
        return [first for first in firsts if first is not None]


def compare(
    comparison: LocalComparison,
    bundles: Sequence[Path],
    node_socket: Path,
    on_pair: Callable[[Picture], None],
) -> PlayedComparison:
    """Plays pairs until the verdict. Calls ``on_pair`` after each.

    A pair in which this machine fails is played again. Raises HostFault if that happens to one
    pair three times.
    """
    played = PlayedComparison(RunningComparison(comparison.rule))
    comparison.out.mkdir(parents=True, exist_ok=True)
    while played.running.now.verdict is None:
        number = len(played.pairs) + 1
        pair = plan_pair(comparison.plan.seed, number, comparison.seats, len(comparison.opponents))
        began = monotonic()
        old, new = _play_pair(comparison, bundles, node_socket, pair, played)
        played.playing_seconds += monotonic() - began
        _add_pair(comparison, played, pair, (old.played, new.played))
        on_pair(played.running.now)
    return played


def _play_pair(
    comparison: LocalComparison,
    bundles: Sequence[Path],
    node_socket: Path,
    pair: PairPlan,
    played: PlayedComparison,
) -> tuple[LocalResult, LocalResult]:
    """Plays both games of a pair, again if this machine fails."""
    for attempt in range(1, PAIR_ATTEMPTS + 1):
        try:
            old, new = (
                local_match.play_game(
                    comparison.plan,
                    bundles,
                    node_socket,
                    LocalGame(pair.number, pair.seed, _lineup(comparison, pair, version)),
                )
                for version in (OLD, NEW)
            )
        except HostFault:
            played.replayed_pairs += 1
            if attempt == PAIR_ATTEMPTS:
                raise
        else:
            return old, new
    raise AssertionError


def _lineup(comparison: LocalComparison, pair: PairPlan, version: int) -> tuple[int, ...]:
    others = [comparison.opponents[opponent] for opponent in pair.opponents]
    return (*others[: pair.seat], version, *others[pair.seat :])


def _add_pair(
    comparison: LocalComparison,
    played: PlayedComparison,
    pair: PairPlan,
    matches: tuple[PlayedMatch, PlayedMatch],
) -> None:
    names = comparison.plan.names
    result = PlayedPair(
        pair.number,
        pair.seat,
        tuple(names[comparison.opponents[opponent]] for opponent in pair.opponents),
        *(_game_of_pair(match, pair.seat) for match in matches),
    )
    played.pairs.append(result)
    files = [
        _save_files(comparison.out, pair, version, match)
        for version, match in zip(("old", "new"), matches, strict=True)
    ]
    for position, (old, new) in enumerate(
        zip(matches[0].episodes, matches[1].episodes, strict=True)
    ):
        # The second episode of a mirrored match has the seats in reverse order.
        seat = comparison.seats - 1 - pair.seat if position else pair.seat
        step = first_different_move(old, new, seat)
        if step is not None:
            played.first_differences[pair.number] = FirstDifference(
                pair=pair.number,
                difference=result.difference,
                seat=pair.seat,
                episode=position,
                step=step,
                old_replay=files[0][position],
                new_replay=files[1][position],
            )
            break
    played.running.add(result.difference)


def _game_of_pair(match: PlayedMatch, seat: int) -> GameOfPair:
    report = match.seats[seat]
    moves = 0
    for position, episode in enumerate(match.episodes):
        own = episode.seats - 1 - seat if position else seat
        moves += sum(step.charged_seconds[own] is not None for step in episode.steps)
    return GameOfPair(
        placements=tuple(seat_report.placement for seat_report in match.seats),
        fault=report.verdict.is_fault,
        charged_seconds=report.charged_seconds,
        max_move_seconds=report.max_move_seconds,
        moves=moves,
    )


def _save_files(folder: Path, pair: PairPlan, version: str, match: PlayedMatch) -> list[str]:
    """Writes the replays, and the log of a fault. Returns the paths of the replays."""
    stem = f"pair-{pair.number:05d}-{version}"
    paths = []
    for position, episode in enumerate(match.episodes):
        path = folder / f"{stem}{'-mirrored' if position else ''}.peck-replay.gz"
        path.write_bytes(to_bytes(episode))
        paths.append(str(path))
    report = match.seats[pair.seat]
    if report.verdict.is_fault:
        (folder / f"{stem}.peck-log.gz").write_bytes(report.log)
    return paths
