"""Swiss pairings agree with bbpPairings over 1,000 random tournaments; it compares stored answers.

scripts/drill swiss-pairings [--tournaments N] [--peer PATH [--store]]

With ``--peer`` it asks that program (https://github.com/BieremaBoyzProgramming/bbpPairings) and
prints each difference. With ``--store`` it stores the answers of the peer.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from ladder.tournaments.formats.dutch import with_absent
from ladder.tournaments.formats.trf import Report, write_report
from tests.unit.ladder.tournaments.dutch_tournaments import (
    ANSWERS,
    Pair,
    Pairs,
    digest_of,
    digest_of_rounds,
    pair_here,
    rounds_of,
)


def peer(program: Path) -> Pair:
    """Returns a function that asks bbpPairings."""

    def pair(report: Report, absent: frozenset[int]) -> Pairs | None:
        with tempfile.NamedTemporaryFile("w", suffix=".trf") as file:
            file.write(write_report(with_absent(report, absent)))
            file.flush()
            answer = subprocess.run(
                [program, "--dutch", file.name, "-p"], capture_output=True, text=True
            )
        if answer.returncode == 1:  # its code for a round that cannot be paired
            return None
        if answer.returncode:
            raise RuntimeError(f"{program} failed: {answer.stdout}{answer.stderr}")
        lines = answer.stdout.splitlines()[1:]
        return tuple((int(one), int(two)) for one, two in map(str.split, lines))

    return pair


def compare(program: Path, tournaments: int) -> tuple[int, list[str]]:
    """Asks the peer for each round of each tournament.

    Returns the number of different rounds and the digest of the peer's answers to each tournament.
    """
    ask = peer(program)
    counts: Counter[str] = Counter()
    digests = []
    for number in range(1, tournaments + 1):
        different = False
        rounds = []
        for report, absent, theirs in rounds_of(number, ask):
            ours = pair_here(report, absent)
            rounds.append(theirs)
            counts["rounds"] += 1
            counts["pairs"] += len(theirs or ())
            counts["withdrawn"] += len(absent)
            counts["byes"] += any(not two for _, two in theirs or ())
            counts["rounds that cannot be paired"] += theirs is None
            if sorted(ours or ()) != sorted(theirs or ()):
                different = True
                counts["different rounds"] += 1
                only = sorted(set(ours or ()) ^ set(theirs or ()))
                print(f"tournament {number}, round {len(report.players[0].rounds) + 1}: {only}")
        digests.append(digest_of_rounds(rounds))
        counts["tournaments"] += 1
        counts["different tournaments"] += different
    for name, count in counts.items():
        print(f"{count:8,} {name}")
    return counts["different rounds"], digests


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tournaments", type=int, default=1000)
    parser.add_argument("--peer", type=Path, help="the program bbpPairings")
    parser.add_argument("--store", action="store_true")
    options = parser.parse_args()
    numbers = range(1, options.tournaments + 1)
    if options.peer:
        different, digests = compare(options.peer, options.tournaments)
        if options.store:
            ANSWERS.write_text("".join(f"{digest}\n" for digest in digests))
        return min(1, different)
    answers = ANSWERS.read_text().split()
    wrong = [n for n in numbers if digest_of(n, pair_here) != answers[n - 1]]
    print(f"{len(numbers)} tournaments, {len(wrong)} differ from bbpPairings: {wrong}")
    return min(1, len(wrong))


if __name__ == "__main__":
    sys.exit(main())
