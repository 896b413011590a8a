"""Plays random tournaments of all formats: entrants leave, crash and tie, and hosts disqualify."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import msgspec

from ladder.errors import Invalid
from ladder.tournaments.formats.course import play, stage_run
from ladder.tournaments.formats.export import encode_course
from ladder.tournaments.formats.heats import plans_of_turns
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
    check_plan,
)
from ladder.tournaments.formats.records import Course, Event, Game, Key, Progress, State, WantedGame
from ladder.tournaments.formats.round_robin import divide_into_groups

POINTS: dict[int, list[tuple[float, ...]]] = {
    3: [(), (5.0, 2.0, 1.0), (10.0, 0.1, 0.0)],
    4: [(), (10.0, 6.0, 3.0, 1.0), (1.0, 0.5, 0.25, 0.0)],
    5: [(), (9.0, 5.0, 3.0, 2.0, 0.0)],
}
DUELS = (RoundRobin, Groups, Swiss, Gauntlet, SingleElimination, DoubleElimination)


@dataclass(frozen=True)
class Snapshot:
    """A tournament at one time."""

    event: Event
    progress: Progress
    course: Course


def random_tournament(number: int) -> Iterator[Snapshot]:
    """Yields a tournament at a random time, at its end, and after disqualifications.

    The number fixes everything. Raises AssertionError if the course computed anew differs.
    """
    rng = Random(number)
    event = _random_event(rng)
    luck, leaving = rng.choice((0.3, 2.0, 50.0)), rng.choice((0.0, 0.03, 0.1, 0.3, 0.7))
    crashing, level = rng.choice((0.0, 0.1, 0.5)), rng.choice((0.0, 0.3, 0.8))
    results: dict[Key, list[Game]] = {}
    left: dict[int, tuple[int, int]] = {}
    if rng.random() < 0.2:
        left = {n: (1, 0) for n in range(1, event.size + 1) if rng.random() < leaving}
    course = play(event, Progress(results, left))
    yielded = rng.randrange(1, 8)
    while not course.finished:
        at = course.position
        wanted = [(pairing.key, one) for pairing in course.pairings for one in pairing.wanted]
        wanted = [(key, one) for key, one in wanted if (key.stage, key.round) == at]
        most = len(wanted)
        played = rng.sample(wanted, most if rng.random() < 0.6 else rng.randint(1, most))
        for key, one in played:
            results.setdefault(key, []).append(_random_game(one, rng, (luck, crashing, level)))
        for entrant in range(1, event.size + 1):
            if entrant not in left and rng.random() < leaving / 4:
                left[entrant] = at
        course = play(event, Progress(results, left, course.published))
        yielded -= 1
        if not yielded:
            progress = Progress({key: tuple(each) for key, each in results.items()}, dict(left))
            yield _snapshot(event, progress, course)
    end = Progress(results, dict(left))
    yield _snapshot(event, end, course)
    after = (course.position[0], course.position[1] + 1)
    for _ in range(rng.choice((0, 1, 1, 2, event.size))):
        stayed = [each for each in course.ranking if each not in left]
        if stayed:
            left[stayed[0] if rng.random() < 0.5 else rng.choice(stayed)] = after
    end = replace(end, withdrawn=left)
    yield Snapshot(event, end, play(event, end))


def _snapshot(event: Event, progress: Progress, course: Course) -> Snapshot:
    """Checks that a process which crashed here computes the same course from the log."""
    assert encode_course(play(event, progress)) == encode_course(course)
    return Snapshot(event, progress, course)


def _random_game(wanted: WantedGame, rng: Random, chances: tuple[float, float, float]) -> Game:
    """A game in which better seeds are better; agents crash, and equal levels tie."""
    luck, crashing, level = chances
    strength = {each: rng.gauss(-each, luck) for each in wanted.entrants}
    for each in strength:
        if rng.random() < level:
            strength[each] = float(round(strength[each] / 6))
        if rng.random() < crashing:
            strength[each] = -1000.0
    places = [1 + sum(strength[o] > strength[each] for o in strength) for each in wanted.entrants]
    rewards = tuple(round(strength[each], 1) for each in wanted.entrants)
    return Game(wanted.number, wanted.entrants, tuple(places), rewards)


def _random_event(rng: Random) -> Event:
    while True:
        size = rng.choice((2, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 10, 12, 17))
        kind = rng.choice((DUELS, DUELS, DUELS, DUELS, (Heats,), (Heats,), (Solo,)))
        seats = 2 if kind is DUELS else rng.choice((3, 4, 5)) if kind == (Heats,) else 1
        count = rng.choice((1, 1, 1, 2, 2, 3))
        stages = tuple(_random_stage(rng.choice(kind), rng, seats) for _ in range(count))
        left, chain = size, []
        for n, stage in enumerate(stages):
            last = n == count - 1
            share = left // stage.groups if isinstance(stage, Groups) else left
            advance = 0 if last or share < 1 else rng.randint(1, share)
            chain.append(_with(stage, rng, left, advance))
            left = advance * (stage.groups if isinstance(stage, Groups) else 1)
        plan = Plan(tuple(chain))
        try:
            check_plan(plan, size, seats)
        except Invalid:
            continue
        prohibited = frozenset(
            (one, two)
            for one in range(1, size + 1)
            for two in range(one + 1, size + 1)
            if rng.random() < 0.05
        )
        return Event(plan, size, rng.randbytes(32), prohibited)


def _with(stage: Stage, rng: Random, size: int, advance: int) -> Stage:
    values: dict[str, Any] = {"advance": advance}
    if isinstance(stage, Swiss):
        values["rounds"] = rng.randint(1, max(1, min(5, size - 1)))
    if isinstance(stage, Solo):
        cuts = rng.sample(range(1, size), min(rng.randint(0, 2), size - 1))
        values["cuts"] = tuple(sorted(cuts, reverse=True))
    return msgspec.structs.replace(stage, **values)


def _random_stage(kind: type[Stage], rng: Random, seats: int) -> Stage:
    if kind is Solo:
        return Solo(games=rng.randint(1, 3))
    if kind is Heats:
        heat = HeatRules(games=rng.randint(1, 3), points=rng.choice(POINTS[seats]))
        return Heats(heat=heat, seats=seats, rounds=rng.randint(1, 5))
    values: dict[str, Any] = {
        "series": Series(rng.randint(1, 3), rng.random() < 0.7, rng.randint(0, 2))
    }
    if kind in (RoundRobin, Groups, Swiss, Gauntlet):
        breaks = rng.sample(list(TieBreak), rng.randint(0, len(TieBreak)))
        values["tie_breaks"] = tuple(breaks)
    if kind in (RoundRobin, Groups):
        values["cycles"] = rng.choice((1, 1, 1, 2))
    if kind is Groups:
        values["groups"] = rng.randint(2, 4)
    if kind is Gauntlet:
        values |= {"heads": rng.randint(1, 3)}
    if kind is SingleElimination:
        values["third_place"] = rng.random() < 0.5
    if kind is DoubleElimination:
        values["reset"] = rng.random() < 0.5
    return kind(**values)


def as_plain(snapshot: Snapshot) -> dict[str, Any]:
    """The tournament in the form that the naive computation reads."""
    event, progress, course = snapshot.event, snapshot.progress, snapshot.course
    return {
        "size": event.size,
        "finished": course.finished,
        "begun": len(course.fields),
        "left": dict(progress.withdrawn),
        "stages": [
            _plain_stage(snapshot, number, stage)
            for number, stage in enumerate(event.plan.stages, 1)
        ],
        "pairings": [
            {
                "stage": one.key.stage,
                "round": one.key.round,
                "number": one.key.number,
                "section": one.section,
                "entrants": list(one.entrants),
                "void": one.state is State.VOID,
                "games": _plain_games(progress.results.get(one.key, ())),
            }
            for one in course.pairings
        ],
    }


def _plain_games(games: Sequence[Game]) -> list[dict[str, Any]]:
    return [
        {
            "number": game.number,
            "entrants": list(game.entrants),
            "places": list(game.places),
            "rewards": list(game.rewards),
        }
        for game in games
    ]


def _plain_stage(snapshot: Snapshot, number: int, stage: Stage) -> dict[str, Any]:
    event, course = snapshot.event, snapshot.course
    plain: dict[str, Any] = {"format": _tag(stage), "advance": stage.advance}
    begun = number <= len(course.fields)
    if isinstance(stage, DUELS):
        series = stage.series
        plain |= {
            "pairs": series.pairs,
            "stop_when_decided": series.stop_when_decided,
            "more_pairs": series.more_pairs,
        }
    if isinstance(stage, RoundRobin | Groups | Swiss | Gauntlet):
        plain["tie_breaks"] = [each.value for each in stage.tie_breaks]
    if isinstance(stage, Groups) and begun:
        plain["groups"] = divide_into_groups(course.fields[number - 1], stage.groups)
    if isinstance(stage, Heats):
        heat = stage.heat
        plain |= {"seats": stage.seats, "games": heat.games, "points": list(heat.points)}
    if isinstance(stage, Heats) and begun:
        run = stage_run(event, snapshot.progress, number, course.fields[number - 1])
        plans: Mapping[int, Sequence[set[int]]] = plans_of_turns(run, stage, course.stage(number))
        plain["plans"] = {
            first: {first + n: sorted(playing) for n, playing in enumerate(rounds)}
            for first, rounds in plans.items()
        }
    if isinstance(stage, Solo):
        plain["solo_games"] = stage.games
    return plain


def _tag(stage: Stage) -> str:
    return str(stage.__struct_config__.tag)
