"""Plays matches beside busy processes and checks that no agent is blamed for a slow host.

    scripts/drill starved-host [--launcher NAME] [--busy 40] [--seconds 600] [--least 50]

Matches run one after another, with two seats, ten moves and 0.3 s of processor time a move. Clock,
attempts and forgiven waiting are those of a worker. Then three agents try to void a match by being
late: one sleeps, one starts thirty children, one fills its memory. The drill exits with 1 if fewer
than ``--least`` matches finish. It also exits with 1 if an honest agent has a fault or one of the
three succeeds.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.node_harness import BORROW_SECONDS, LAUNCHERS, SEED, Node, running
from benchmarks.report_tables import aligned, describe_machine
from games import GAMES
from games.protocol import Verdict
from sandbox.errors import HostFault
from sandbox.match import referee
from sandbox.match.attempt import FORGIVING_ATTEMPTS, WAITING_SECONDS
from sandbox.match.clock import Clock
from sandbox.match.loans import borrow_seats
from sandbox.match.match_record import PlayedMatch
from sandbox.match.referee import EpisodeRequest
from tests.integration.forked_seats import hogs

SEATS, MOVES, ATTEMPTS = 2, 10, 3
GEESE = GAMES["hungry_geese"]
CONFIGURATION = GEESE.configure({"episodeSteps": MOVES + 1, "hunger_rate": 1000, "rows": 30})
CLOCK = Clock(act_seconds=1.0, bank_seconds=2.0)
HONEST = """\
import os, time

def work(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass

def agent(observation, configuration):
    if observation.step >= {late_from}:
        {late}
    work({seconds})
    return 'EAST'
"""
LATE = {
    "sleeps": "time.sleep(60)",
    "starts 30 children": "[work(60) for _ in range(30) if os.fork() == 0]; time.sleep(60)",
    "fills its memory": "waste = [bytearray(1 << 24) for _ in range(1000)]",
}


@dataclass
class Tried:
    """The results of some matches; a void match is played again."""

    finished: int = 0
    void: int = 0
    """Attempts without a rated result."""
    verdicts: Counter[str] = field(default_factory=Counter)
    """Counts of the first seat's verdicts."""
    faults: list[str] = field(default_factory=list)
    """Reasons of the faults of honest seats."""
    waited_most: float = 0.0
    """Wall seconds of the longest match."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the drill; returns the exit status."""
    parser = argparse.ArgumentParser(prog="scripts/drill starved-host", description=__doc__)
    parser.add_argument("--launcher", choices=LAUNCHERS, default="bubblewrap")
    parser.add_argument("--busy", type=int, default=40, help="busy processes beside the matches")
    parser.add_argument("--seconds", type=float, default=600.0, help="for the honest matches")
    parser.add_argument("--least", type=int, default=50, help="matches that must finish")
    parser.add_argument("--work", type=float, default=0.3, help="processor seconds of a move")
    options = parser.parse_args(arguments)
    with (
        tempfile.TemporaryDirectory(prefix="peck-drill-") as folder,
        running(options.launcher, "python", memory_mb=128) as node,
    ):
        if isinstance(node, str):
            print(f"{options.launcher}: {node}", file=sys.stderr)
            return 1
        bundles = _bundles(Path(folder), options.work)
        with hogs(options.busy):
            honest = _play(
                node, [bundles["honest"]] * SEATS, honest_from=0, seconds=options.seconds
            )
            late = {
                name: _play(node, [bundles[name], bundles["honest"]], honest_from=1)
                for name in LATE
            }
    print(f"{options.launcher}, {options.busy} busy processes, {describe_machine()}")
    print(_table(honest, late))
    failed = honest.finished < options.least or honest.faults
    for name, tried in late.items():
        gained = tried.void or not tried.finished or str(Verdict.DONE) in tried.verdicts
        for reason in tried.faults:
            print(f"fault of an honest seat against an agent that {name}: {reason}")
        failed = failed or bool(gained) or bool(tried.faults)
    for reason in honest.faults:
        print(f"fault of an honest seat: {reason}")
    return 1 if failed else 0


def _bundles(folder: Path, work: float) -> dict[str, Path]:
    written = {}
    for name, late in {"honest": "pass", **LATE}.items():
        written[name] = folder / f"{name.replace(' ', '_')}.py"
        late_from = 1000 if name == "honest" else 3
        text = HONEST.format(late_from=late_from, late=late, seconds=work)
        written[name].write_text(text)
    return written


def _play(node: Node, bundles: Sequence[Path], honest_from: int, seconds: float = 0.0) -> Tried:
    """Play matches of these bundles for ``seconds``, but at least one."""
    tried, until = Tried(), time.monotonic() + seconds
    while True:
        started = time.monotonic()
        for attempt in range(1, ATTEMPTS + 1):
            try:
                played = _match(node, bundles, attempt)
            except HostFault as fault:
                tried.void += 1
                print(f"void: {fault}", file=sys.stderr)
                continue
            tried.finished += 1
            tried.verdicts[str(played.seats[0].verdict)] += 1
            tried.faults += [
                str(seat.reason)
                for seat in played.seats[honest_from:]
                if seat.verdict is not Verdict.DONE
            ]
            break
        tried.waited_most = max(tried.waited_most, time.monotonic() - started)
        if time.monotonic() >= until:
            return tried


def _match(node: Node, bundles: Sequence[Path], attempt: int) -> PlayedMatch:
    requests = [node.request(bundle) for bundle in bundles]
    longest = CLOCK.longest_seconds(MOVES, SEATS, 1)
    with borrow_seats(node.socket, requests, BORROW_SECONDS) as loans:
        return referee.play_episode(
            EpisodeRequest(
                GEESE,
                CONFIGURATION,
                CLOCK,
                SEED,
                loans,
                max_parallel_seats=1,
                stop_after_seconds=longest + WAITING_SECONDS + 60.0,
                waiting_seconds=WAITING_SECONDS / SEATS,
                forgive_lateness=attempt <= FORGIVING_ATTEMPTS,
            )
        )


def _table(honest: Tried, late: dict[str, Tried]) -> str:
    rows = [["first seat", "finished", "void attempts", "its verdicts", "longest match, s"]]
    for name, tried in {"honest": honest, **late}.items():
        told = ", ".join(f"{verdict} {count}" for verdict, count in sorted(tried.verdicts.items()))
        rows.append([name, str(tried.finished), str(tried.void), told, f"{tried.waited_most:.1f}"])
    return aligned(rows)


if __name__ == "__main__":
    sys.exit(main())
