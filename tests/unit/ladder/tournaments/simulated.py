"""Plays tournaments with simulated results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from ladder.tournaments.formats.course import play
from ladder.tournaments.formats.plan import Plan, Stage
from ladder.tournaments.formats.records import Course, Event, Game, Key, Progress, WantedGame

Result = Callable[[WantedGame, Random], Game]


def by_strength(wanted: WantedGame, rng: Random) -> Game:
    """Better seeds win more often; games of two are sometimes drawn."""
    strength = {each: rng.gauss(-each, 8.0) for each in wanted.entrants}
    places = [1 + sum(strength[o] > strength[each] for o in strength) for each in wanted.entrants]
    if len(places) == 2 and rng.random() < 0.2:
        places = [1, 1]
    rewards = tuple(round(strength[each]) for each in wanted.entrants)
    return Game(wanted.number, wanted.entrants, tuple(places), rewards, wanted.seed)


@dataclass
class Played:
    """A tournament with everything that happened in it."""

    event: Event
    course: Course
    results: Mapping[Key, Sequence[Game]]
    withdrawn: Mapping[int, tuple[int, int]] = field(default_factory=dict)

    @property
    def progress(self) -> Progress:
        """What happened, without what was computed before."""
        return Progress(self.results, self.withdrawn)


def play_out(
    stages: Stage | tuple[Stage, ...],
    size: int,
    seed: int = 1,
    *,
    result: Result = by_strength,
    withdrawing: float = 0.0,
    prohibited: frozenset[tuple[int, int]] = frozenset(),
) -> Played:
    """Plays a tournament; before each round each entrant withdraws with this probability."""
    rng = Random(seed)
    plan = Plan(stages if isinstance(stages, tuple) else (stages,))
    event = Event(plan, size, rng.randbytes(32), prohibited)
    results: dict[Key, list[Game]] = {}
    withdrawn: dict[int, tuple[int, int]] = {}
    course = play(event, Progress(results))
    while not course.finished:
        at = course.position
        for entrant in range(1, size + 1):
            if entrant not in withdrawn and rng.random() < withdrawing:
                withdrawn[entrant] = at
        for pairing in course.pairings:
            for wanted in pairing.wanted:
                if pairing.round == at:
                    results.setdefault(pairing.key, []).append(result(wanted, rng))
        course = play(event, Progress(results, withdrawn, course.published))
    return Played(event, course, results, withdrawn)
