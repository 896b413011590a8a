"""A whole instance plays quick matches at full speed; each minute it prints rate, delays and sizes.

    scripts/drill full-speed [--minutes 60] [--slots 2] [--steps 5]

Then it compares the last third of the time with the first one. Exits with 1 if the rate fell, if a
part's memory or the bytes of a match grew, if ratings or leaderboard fell behind, or if a part
ended. The first minute does not count.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.instance_usage import memory_mib
from benchmarks.report_tables import aligned, describe_machine
from benchmarks.whole_way import playing_league
from ladder.database import db
from ladder.database.db import Connection
from services.api_client import Client
from tests.stack import Stack

MINUTE_SECONDS = 60.0
LOOK_SECONDS = 1.0
LEAST_RATE = 0.9
"""Least part of the first rate that the last one must have."""
MOST_GROWTH = 1.25
MOST_GROWTH_MIB = 30.0
"""A part's memory may grow by this much besides, for its caches."""
MOST_GROWTH_KIB = 5.0
"""The same for what a match leaves: tables grow by whole pages."""
MOST_DELAY_SECONDS = 5.0
SEATS = 4
MIB = 1 << 20
DELAY = """
    select coalesce(extract(epoch from now() - min(m.finished_at)), 0)::float8
      from seasons s join acceptances a on a.season_id = s.id and a.no > s.rated_no
      join matches m on m.id = a.match_id"""


@dataclass(frozen=True)
class Minute:
    """What happened in one minute, and the sizes at its end."""

    matches: int
    rate: float
    """Rated matches a second."""
    rating_delay: float
    """Greatest age in seconds of a result without a live rating."""
    board_age: float
    """Most seconds for which the leaderboard lacked a result."""
    memory: Mapping[str, float]
    """MiB by part."""
    tables_mib: float
    blobs: int
    blobs_mib: float


class BoardReader:
    """Reads the leaderboard and remembers since when results exist that it lacks."""

    def __init__(self, client: Client, season: str) -> None:
        self._client, self._path = client, f"/v1/seasons/{season}/leaderboard"
        self._seen: dict[int, float] = {}

    def age_seconds(self, accepted: int) -> float:
        """For how long the leaderboard has lacked the oldest of these results that it lacks."""
        self._seen.setdefault(accepted, time.monotonic())
        rows = self._client.get(self._path)["items"]
        shown = sum(row["games"] for row in rows) // SEATS
        self._seen = {no: at for no, at in self._seen.items() if no > shown}
        now = time.monotonic()
        return now - min(self._seen.values(), default=now)


def watch(stack: Stack, season: str, minutes: int) -> Iterator[Minute]:
    """Looks each second; yields each minute."""
    board = BoardReader(stack.client(stack.admin_token), season)
    with db.connect(stack.instance.settings.database_url, autocommit=True) as conn:
        before = accepted(conn)
        for _ in range(minutes):
            delays, ages, began = [0.0], [0.0], time.monotonic()
            while time.monotonic() < began + MINUTE_SECONDS:
                row = conn.execute(DELAY).fetchone()
                assert row is not None
                delays.append(row[0])
                ages.append(board.age_seconds(accepted(conn)))
                time.sleep(LOOK_SECONDS)
            now = accepted(conn)
            blobs, blobs_mib = folder_size(stack.instance.state / "blobs")
            yield Minute(
                matches=now - before,
                rate=(now - before) / (time.monotonic() - began),
                rating_delay=max(delays),
                board_age=max(ages),
                memory=memory_mib(stack.instance),
                tables_mib=sum(table_sizes(conn).values()),
                blobs=blobs,
                blobs_mib=blobs_mib,
            )
            before = now


def accepted(conn: Connection) -> int:
    """The number of rated results."""
    row = conn.execute("select coalesce(sum(accepted_no), 0)::integer from seasons").fetchone()
    assert row is not None
    return int(row[0])


def faults_of(minutes: Sequence[Minute]) -> list[str]:
    """What was not flat: compares the last third with the first one."""
    third = max(1, len(minutes) // 3)

    def ends(of: Callable[[Minute], float]) -> tuple[float, float]:
        first, last = minutes[:third], minutes[-third:]
        return statistics.fmean(map(of, first)), statistics.fmean(map(of, last))

    found = []
    first, last = ends(lambda one: one.rate)
    if last < LEAST_RATE * first:
        found.append(f"the rate fell from {first:.1f} to {last:.1f} matches/s")
    for part in minutes[0].memory:
        first, last = ends(lambda one: one.memory.get(part, 0.0))  # noqa: B023
        if last > MOST_GROWTH * first + MOST_GROWTH_MIB:
            found.append(f"the memory of {part} grew from {first:.0f} to {last:.0f} MiB")
    for name, of in (
        ("ratings", lambda one: one.rating_delay),
        ("the leaderboard", lambda one: one.board_age),
    ):
        first, last = ends(of)
        if last > max(MOST_DELAY_SECONDS, MOST_GROWTH * first):
            found.append(f"{name} fell behind: {first:.1f} s at first, {last:.1f} s at the end")
    for name, of in (
        ("tables", lambda one: one.tables_mib),
        ("blobs", lambda one: one.blobs_mib),
    ):
        first = _kib_of_a_match(minutes[: third + 1], of)
        last = _kib_of_a_match(minutes[-third - 1 :], of)
        if last > MOST_GROWTH * first + MOST_GROWTH_KIB:
            found.append(f"a match took {first:.1f}, then {last:.1f} KiB of {name}")
    return found


def _kib_of_a_match(minutes: Sequence[Minute], of: Callable[[Minute], float]) -> float:
    matches = sum(one.matches for one in minutes[1:])
    return 1024 * (of(minutes[-1]) - of(minutes[0])) / max(1, matches)


def cells(number: int, one: Minute) -> list[str]:
    """The line of a minute."""
    return [
        str(number),
        f"{one.rate:.2f}",
        f"{one.rating_delay:.2f}",
        f"{one.board_age:.2f}",
        *(f"{size:.0f}" for size in one.memory.values()),
        f"{one.tables_mib:.1f}",
        str(one.blobs),
        f"{one.blobs_mib:.1f}",
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the drill; returns the exit status."""
    parser = argparse.ArgumentParser(prog="scripts/drill full-speed", description=__doc__)
    parser.add_argument("--minutes", type=int, default=60, help="at least 3")
    parser.add_argument("--slots", type=int, default=2)
    parser.add_argument("--steps", type=int, default=5)
    options = parser.parse_args(arguments)
    told: list[list[str]] = []
    minutes: list[Minute] = []
    with playing_league(options.slots, options.steps) as (stack, season):
        time.sleep(MINUTE_SECONDS)
        for one in watch(stack, season, max(3, options.minutes)):
            minutes.append(one)
            told.append(cells(len(minutes), one))
            parts = [f"{name}, MiB" for name in one.memory]
            print(f"minute {len(minutes)}: {one.rate:.2f} matches/s", flush=True)
        gone = [p.name for p in stack.instance.parts if p.child is None or not p.child.alive()]
    head = ["minute", "matches/s", "rating delay, s", "board age, s", *parts]
    print(f"{describe_machine()}, {options.slots} slots, {options.steps} steps")
    print(aligned([[*head, "tables, MiB", "blobs", "blobs, MiB"], *told]))
    faults = [*faults_of(minutes), *(f"{name} ended" for name in gone)]
    print("\n".join(faults) if faults else "flat")
    return 1 if faults else 0


def table_sizes(conn: Connection) -> dict[str, float]:
    """MiB of each table that holds at least one MiB, with its indexes and partitions."""
    rows = conn.execute(
        "select coalesce(parent.relname, c.relname), sum(pg_total_relation_size(c.oid)) as size"
        " from pg_class c left join pg_inherits i on i.inhrelid = c.oid"
        " left join pg_class parent on parent.oid = i.inhparent"
        " where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace"
        " group by 1 having sum(pg_total_relation_size(c.oid)) >= 1048576 order by 2 desc"
    )
    return {name: float(size) / MIB for name, size in rows}


def folder_size(folder: Path) -> tuple[int, float]:
    """Number of files and MiB of their content."""
    count = size = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                size += os.stat(os.path.join(place, name)).st_size
                count += 1
    return count, size / MIB


if __name__ == "__main__":
    sys.exit(main())
