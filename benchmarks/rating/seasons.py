"""Plays a season of one ladder in one world and measures it on the way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from benchmarks.rating.baselines import View
from benchmarks.rating.board_accuracy import Snapshot, medal_classes, places, snapshot
from benchmarks.rating.official_ladder import DEFAULTS
from benchmarks.rating.worlds import Flags, Ints, World

GROWTH = 0.05
"""The size of a batch as a share of the log; at least one game an agent."""
TOGETHER = 16
"""Of the matches in flight, this many end between two rounds of the scheduler."""


class Ladder(Protocol):
    """The methods that a season needs of a ladder; agents are numbered by entry."""

    most_in_flight: int | None
    """The most matches in flight; None: whole batches, whose results come at once."""

    def enter(self, parents: Ints, *, are_anchors: bool = False) -> None:
        """Add agents; each item is the earlier version of the agent, or -1."""

    def ranked(self, active: Ints) -> Flags | None:
        """Which of these stand for a team; None: the newest entry of each team."""

    def lineups(self, active: Ints, count: int, rng: np.random.Generator) -> Ints:
        """The next games."""

    def learn(self, lineups: Ints, ranks: NDArray[np.int16], faults: Flags) -> None:
        """Learn the results of these games."""

    def close_uploads(self) -> None:
        """Begin the finals."""

    def finish_season(self) -> None:
        """Finish after the last game."""

    def view(self, active: Ints) -> View:
        """The board of the active agents."""


@dataclass
class Season:
    """The measures of one season of one ladder."""

    shots: list[Snapshot]
    """The board at the asked moments; in a living league when uploads closed, and at the end."""
    moved: float = 0.0
    """The mean change of a settled agent's rank in a day, as a share of the league."""
    jumped: float = 0.0
    """The 99th percentile of these changes."""
    flipped: float = 0.0
    """The share of settled agents' medals that have another class a day later."""
    newcomers: list[tuple[bool, int, float]] = field(default_factory=list)
    """For each newcomer: has a parent, own games, distance from the true rank as a share."""


def play_static_season(
    ladder: Ladder,
    world: World,
    checkpoints: Sequence[float],
    seed: int,
    *,
    finals_at: float | None = None,
) -> Season:
    """Play a league without arrivals; uploads close after ``finals_at`` games an agent."""
    rng = np.random.default_rng([seed, 1])
    agents = len(world.skill)
    active = np.arange(agents, dtype=np.int32)
    ladder.enter(np.full(agents, -1, dtype=np.int32))
    truth = world.truth(active)
    league = Flight(ladder, world, rng)
    log, found = 0, list[Snapshot]()
    closed = False
    for checkpoint in checkpoints:
        until = round(checkpoint * agents / world.seats)
        while log < until:
            if finals_at is not None and not closed and log >= finals_at * agents / world.seats:
                ladder.close_uploads()
                closed = True
            batch = min(until - log, max(agents // world.seats, int(GROWTH * log)))
            log += len(league.play(active, batch))
        if checkpoint == checkpoints[-1]:
            ladder.finish_season()
        view = ladder.view(active)
        found.append(snapshot(checkpoint, view, truth, seed, equal_within=world.equal_within))
    return Season(found)


class Flight:
    """The matches in flight, as in a service whose slots are always busy."""

    def __init__(
        self,
        ladder: Ladder,
        world: World,
        rng: np.random.Generator,
        answered: Callable[[Ints], Ints] | None = None,
    ) -> None:
        self._ladder, self._world, self._rng = ladder, world, rng
        self._answered = answered
        """Leaves out matches that are void; None: no match is."""
        self._waiting = np.zeros((0, world.seats), np.int32)

    def play(self, active: Ints, batch: int) -> Ints:
        """Play up to this many matches until their results; returns their lineups."""
        most = self._ladder.most_in_flight or batch
        ended = batch if self._ladder.most_in_flight is None else min(batch, TOGETHER)
        missing = most - len(self._waiting)
        lineups = self._ladder.lineups(active, missing, self._rng)
        self._waiting = np.concatenate([self._waiting, lineups])
        first, self._waiting = self._waiting[:ended], self._waiting[ended:]
        if self._answered is not None:
            first = self._answered(first)
        self._ladder.learn(first, *self._world.play(first, self._rng))
        return first


@dataclass(frozen=True)
class Life:
    """The settings of a league in which agents come and go."""

    arrivals: int = 2
    resubmissions: int = 4
    """Resubmissions a day, while uploads are open."""
    open_days: int = 24
    frozen_days: int = 6
    games: int = 8
    """Games per agent and day."""
    rounds: int = 16
    """Rounds a day; agents come and go between rounds."""


MOST_OF_TEAM = DEFAULTS.team_active_limit or 1
"""Entries of a team on the board."""
SETTLED_DAYS = 5
"""An agent is settled after this many days."""
FIRST_DAY = 5
"""The first day on which newcomers are measured; movement counts from the middle of the open days.
"""
MOST_GAMES = 160


def play_living_season(ladder: Ladder, world: World, life: Life, seed: int) -> Season:
    """Play a league in which agents arrive, improve and crash, and then close uploads."""
    league = _League(ladder, world, life, np.random.default_rng([seed, 2]))
    moves, flips, newcomers = list[float](), list[float](), list[tuple[bool, int, float]]()
    before: _Board | None = None
    opened: Snapshot | None = None
    for day in range(life.open_days + life.frozen_days):
        if day == life.open_days:
            opened = league.snapshot(seed)
            ladder.close_uploads()
        for turn in range(life.rounds):
            if day < life.open_days:
                newest = league.active[league.newest()]
                arrivals = _draw_arrivals(life, turn, newest, league.rng)
                league.admit(arrivals, day + turn / life.rounds)
            league.play()
            if day >= FIRST_DAY:
                newcomers += league.newcomer_distances()
        board = league.board()
        if before is not None and day >= max(SETTLED_DAYS, life.open_days // 2):
            settled = league.active[league.born[league.active] <= day - SETTLED_DAYS]
            _compare(before, board, settled, moves, flips)
        before = board
    ladder.finish_season()
    assert opened is not None
    return Season(
        [opened, league.snapshot(seed)],
        float(np.mean(moves)),
        float(np.quantile(moves, 0.99)),
        float(np.mean(flips)),
        newcomers,
    )


_Board = tuple[Ints, NDArray[np.int64]]
"""Agents and their ranks."""


class _League:
    """The agents in the league, their arrival times and their games.

    The last agents of the world are anchors, of no team. A new version plays beside the older ones
    of its team, up to the limit of the service.
    """

    def __init__(self, ladder: Ladder, world: World, life: Life, rng: np.random.Generator) -> None:
        self.ladder, self.world, self.life, self.rng = ladder, world, life, rng
        count = len(world.skill)
        self.active = np.arange(count, dtype=np.int32)
        self.born = np.zeros(count)
        self.parents = np.full(count, -1, dtype=np.int32)
        self.teams = np.where(self.active < count - world.anchors, self.active, -1)
        self.games = np.zeros(count, dtype=np.int64)
        self.flight = Flight(ladder, world, rng)
        ladder.enter(self.parents[: count - world.anchors])
        ladder.enter(self.parents[count - world.anchors :], are_anchors=True)

    def admit(self, coming: Sequence[int], day: float) -> None:
        """Add newcomers (-1) and new versions; the oldest of a team beyond its limit leave."""
        if not coming:
            return
        entering = np.array(coming, dtype=np.int32)
        self.world.enter(entering, self.rng)
        self.ladder.enter(entering)
        first = len(self.born)
        fresh = np.arange(first, first + len(coming), dtype=np.int32)
        self.teams = np.append(self.teams, np.where(entering < 0, fresh, self.teams[entering]))
        self.active = np.concatenate([self.active, fresh])
        newer = newer_of_team(self.teams[self.active])
        self.active = self.active[newer < MOST_OF_TEAM]
        self.born = np.append(self.born, np.full(len(coming), day))
        self.parents = np.append(self.parents, entering)
        self.games = np.append(self.games, np.zeros(len(coming), dtype=np.int64))

    def play(self) -> None:
        """Play one part of a day."""
        share = self.life.games / self.life.rounds / self.world.seats
        left = round(len(self.active) * share)
        while left > 0:
            lineups = self.flight.play(self.active, left)
            np.add.at(self.games, lineups.ravel(), 1)
            left -= len(lineups)

    def newest(self) -> Flags:
        """Which of the active entries are the newest of their teams; anchors have none."""
        teams = self.teams[self.active]
        newest: Flags = (newer_of_team(teams) == 0) & (teams >= 0)
        return newest

    def ranked(self) -> Flags:
        """Which of the active entries stand for their teams."""
        ranked = self.ladder.ranked(self.active)
        return self.newest() if ranked is None else ranked

    def board(self) -> _Board:
        order = self.ladder.view(self.active).order
        ranked = self.ranked()
        return self.active[ranked], places(order[ranked])

    def newcomer_distances(self) -> list[tuple[bool, int, float]]:
        """The distance of recent newcomers from their true places among the other teams."""
        order, truth = self.ladder.view(self.active).order, self.world.truth(self.active)
        ranked, teams = self.ranked(), self.teams[self.active]
        born, games = self.born[self.active], self.games[self.active]
        found = []
        for at in np.flatnonzero((born >= FIRST_DAY) & (games <= MOST_GAMES) & self.newest()):
            others = ranked & (teams != teams[at])
            off = int((order[others] > order[at]).sum()) - int((truth[others] > truth[at]).sum())
            has_parent = bool(self.parents[self.active[at]] >= 0)
            found.append((has_parent, int(games[at]), abs(off) / (1 + int(others.sum()))))
        return found

    def snapshot(self, seed: int) -> Snapshot:
        games = float(self.games[self.active].mean())
        view, truth = self.ladder.view(self.active), self.world.truth(self.active)
        ranked = self.ranked()
        view = View(view.mu[ranked], view.sigma[ranked], view.order[ranked])
        steady = self.world.crash[self.active] == 0
        return snapshot(games, view, truth[ranked], seed, steady=steady[ranked])


def newer_of_team(teams: Ints) -> Ints:
    """How many later entries have the same team; 0 for those without a team (-1)."""
    newer = np.zeros(len(teams), np.int32)
    seen = dict[int, int]()
    for at in range(len(teams) - 1, -1, -1):
        team = int(teams[at])
        if team >= 0:
            newer[at] = seen.get(team, 0)
            seen[team] = int(newer[at]) + 1
    return newer


def _draw_arrivals(life: Life, turn: int, newest: Ints, rng: np.random.Generator) -> list[int]:
    """The arrivals in this part of the day: the agents of which they are versions, -1 for new."""
    day = life.arrivals + life.resubmissions
    numbers = range(turn * day // life.rounds, (turn + 1) * day // life.rounds)
    replaced = iter(rng.choice(newest, len(numbers), replace=False).tolist())
    # A fixed part of each day's arrivals is new.
    return [
        -1 if number * life.arrivals % day < life.arrivals else next(replaced) for number in numbers
    ]


def _compare(
    before: _Board,
    after: _Board,
    settled: Ints,
    moves: list[float],
    flips: list[float],
) -> None:
    """The changes of a day in the order of agents that were present before and after."""
    both = np.intersect1d(before[0], after[0])
    first, second = (
        places(-ranks[np.searchsorted(who, both)].astype(float)) for who, ranks in (before, after)
    )
    moved = np.abs(second - first) / len(both)
    stayed = np.isin(both, settled)
    moves += moved[stayed].tolist()
    held = stayed & (medal_classes(first) < 3)
    flips.append(float((medal_classes(first) != medal_classes(second))[held].mean()))
