"""5,000 random tournaments have one champion who stayed, and tables as computed naively.

scripts/drill tournament-tables [--tournaments N] [--first NUMBER]

They are of all formats and of chains of formats. Entrants withdraw and are disqualified, also after
the end. They have byes, tie and crash. ``tests/peers/naive_tournament_tables.py`` was written from
the documentation alone.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor

from tests.unit.ladder.tournaments.naive_comparison import champion_fault, differences
from tests.unit.ladder.tournaments.random_tournaments import random_tournament


def check_tournament(number: int) -> tuple[Counter[str], list[str]]:
    """Returns what the tournament counts for, and what is wrong with it."""
    counts: Counter[str] = Counter({"tournaments": 1})
    faults = []
    for snapshot in random_tournament(number):
        counts["tables"] += len(snapshot.course.fields)
        counts["final places"] += snapshot.course.finished
        counts["entrants that left"] += len(snapshot.progress.withdrawn)
        counts["ends without a champion, as all left"] += (
            snapshot.course.finished and snapshot.course.champion is None
        )
        for stage in snapshot.event.plan.stages[: len(snapshot.course.fields)]:
            counts[f"tables of {type(stage).__name__}"] += 1
        fault = champion_fault(snapshot)
        faults += [fault] if fault else []
        faults += differences(snapshot)
    return counts, [f"tournament {number}: {fault}" for fault in faults]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tournaments", type=int, default=5000)
    parser.add_argument("--first", type=int, default=1)
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    wrong = 0
    numbers = range(options.first, options.first + options.tournaments)
    with ProcessPoolExecutor() as pool:
        for counted, faults in pool.map(check_tournament, numbers, chunksize=20):
            counts += counted
            for fault in faults:
                print(fault)
            wrong += bool(faults)
    for name, count in sorted(counts.items()):
        print(f"{count:8,} {name}")
    print(f"{wrong:8,} tournaments with a difference")
    return min(1, wrong)


if __name__ == "__main__":
    sys.exit(main())
