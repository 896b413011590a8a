"""Measures the time to pair a Swiss tournament: ``python -m benchmarks.swiss``.

It plays a whole tournament with simulated results. Each round is paired once, from the report of
the rounds before. The peer in the same run pairs neighbours in the table without any rule.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from random import Random

from benchmarks.report_tables import HEAD, Target, aligned, describe_machine
from ladder.tournaments.formats.course import play
from ladder.tournaments.formats.plan import Plan, Series, Swiss
from ladder.tournaments.formats.records import Event, Game, Key, Progress

ENTRANTS = (64, 256, 1024)


def simulate(entrants: int, rounds: int) -> tuple[list[float], list[float], int]:
    """Returns the seconds to pair each round, the seconds to read it again, and the games."""
    rng = Random(entrants)
    event = Event(Plan((Swiss(rounds=rounds, series=Series(pairs=1)),)), entrants, b"s" * 32)
    results: dict[Key, list[Game]] = {}
    progress = Progress(results)
    pairing, reading = [], []
    for _ in range(rounds):
        began = time.perf_counter()
        course = play(event, progress)
        paired = time.perf_counter()
        progress = Progress(results, {}, course.published)
        play(event, progress)
        reading.append(time.perf_counter() - paired)
        pairing.append(paired - began)
        for each in course.pairings:
            for wanted in each.wanted:
                one, two = wanted.entrants
                better = rng.gauss(two - one, entrants / 3)
                places = (1, 2) if better > 0 else (2, 1)
                results.setdefault(each.key, []).append(Game(wanted.number, (one, two), places))
    assert play(event, progress).finished
    return pairing, reading, sum(map(len, results.values()))


def pair_neighbours(entrants: int) -> list[float]:
    """The peer: sorts by score and pairs neighbours."""
    rng = Random(entrants)
    score = [rng.randrange(20) for _ in range(entrants)]
    began = time.perf_counter()
    order = sorted(range(entrants), key=lambda n: -score[n])
    assert len(list(zip(order[::2], order[1::2], strict=True))) == entrants // 2
    return [time.perf_counter() - began]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=10)
    options.add_argument("--entrants", type=int, nargs="+", default=list(ENTRANTS))
    chosen = options.parse_args()
    print(f"Swiss, {chosen.rounds} rounds: {describe_machine()}\n", flush=True)
    lines: list[Sequence[str]] = [HEAD]
    for entrants in chosen.entrants:
        peer = pair_neighbours(entrants)
        pairing, reading, games = simulate(entrants, chosen.rounds)
        lines += [
            Target(f"neighbours without rules, {entrants} entrants", peer, "s").cells(),
            Target(f"a round paired, {entrants} entrants", pairing, "s", 60).cells(),
            Target(f"the course read again, {games:,} games", reading, "s", 1).cells(),
        ]
    print(aligned(lines))


if __name__ == "__main__":
    main()
