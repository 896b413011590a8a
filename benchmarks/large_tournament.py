"""Measures a Swiss tournament of 1,024 entrants: ``python -m benchmarks.large_tournament``.

It runs on a real Postgres with the scheduler's own function (``advance_one``), which pairs a round
and queues its games. The games are not played: their results are written as rows. At the end a
served site answers requests for the page and for the API. It also prints the rows that the
tournament has left.

The times are processor seconds of this process and of Postgres, so they hold on a busy machine.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from random import Random

import httpx

from benchmarks.report_tables import HEAD, Target, aligned, describe_machine
from ladder.database.db import Connection, connect
from ladder.tournaments import advance, course_acts, entrants
from ladder.tournaments.records import TournamentState
from tests import servers
from tests.integration.api.conftest import application
from tests.integration.api.serving import serve
from tests.integration.ladder.contest import make_contest
from tests.integration.ladder.cup import Cup, make_cup

SLOTS = 800
"""Of the fleet, so that all games of a round are queued at once."""
REQUESTS = 5
"""The first one computes the course; the others find it in memory."""
TABLES = (
    "tournament_entrants",
    "tournament_games",
    "tournament_rounds",
    "matches",
    "seats",
    "notices",
)


def processor_seconds(postgres: int) -> float:
    """Seconds that this process and the server of Postgres have used, with all its processes."""
    ticks = 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it ended
            continue
        if int(folder.name) == postgres:
            ticks += sum(map(int, fields[11:15]))  # with its children that ended
        elif int(fields[1]) == postgres:
            ticks += sum(map(int, fields[11:13]))
    return time.process_time() + ticks / os.sysconf("SC_CLK_TCK")


def hold(cup: Cup, rng: Random, clock: Callable[[], float]) -> list[float]:
    """Plays the tournament; returns the seconds of each advance that paired a round."""
    conn = cup.contest.conn
    pairing: list[float] = []
    while True:
        began = clock()
        with conn.transaction():
            advance.advance_one(conn, cup.id, cup.turn, SLOTS)
        took = clock() - began
        if cup.row.state is TournamentState.FINISHED:
            return pairing
        pairing.append(took)
        print(f"round {cup.row.position}: {took:.1f} s", flush=True)
        write_results(conn, cup, rng)


def write_results(conn: Connection, cup: Cup, rng: Random) -> None:
    """Ends the queued games. Better seeds win more often."""
    games = cup.open_games()
    places = []
    for game in games:
        one, two = game.entrants
        places.append([1, 2] if rng.gauss(two - one, 300) > 0 else [2, 1])
    conn.execute(
        "update seats t set placement = n.place, reward = -n.place, verdict = 'DONE'"
        " from unnest(%s::text[], %s::integer[], %s::integer[]) as n (match_id, seat, place)"
        " where t.match_id = n.match_id and t.seat = n.seat",
        (
            [game.match_id for game in games for _ in (0, 1)],
            [seat for _ in games for seat in (0, 1)],
            [place for both in places for place in both],
        ),
    )
    conn.execute(
        "update matches set state = 'finished', finished_at = now() where id = any (%s)",
        ([game.match_id for game in games],),
    )


def request_seconds(
    http: httpx.Client, path: str, clock: Callable[[], float]
) -> tuple[list[float], int]:
    """Seconds of some requests, and the size of the answer in bytes."""
    samples, size = [], 0
    for _ in range(REQUESTS):
        began = clock()
        answer = http.get(path, headers={"Accept": "*/*"})
        samples.append(clock() - began)
        assert answer.status_code == 200, (path, answer.status_code)
        size = len(answer.content)
    return samples, size


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=10)
    options.add_argument("--entrants", type=int, default=1024)
    chosen = options.parse_args()
    print(f"Swiss of {chosen.entrants}: {describe_machine()}\n", flush=True)
    lines: list[Sequence[str]] = [HEAD]
    with (
        servers.postgres() as server,
        servers.cloned(server, servers.template(server)) as url,
        tempfile.TemporaryDirectory() as folder,
        connect(url, autocommit=True) as conn,
    ):
        conn.execute("set synchronous_commit = off")
        row = conn.execute("select pg_read_file('postmaster.pid')").fetchone()
        assert row is not None
        clock = partial(processor_seconds, int(row[0].split()[0]))
        swiss = {"format": "swiss", "rounds": chosen.rounds, "series": {"pairs": 1}}
        cup = make_cup(
            make_contest(conn, seats=2),
            {"stages": [swiss]},
            most_entrants=chosen.entrants,
        )
        cup.enter(chosen.entrants)
        entrants.lock_entrants(conn, cup.id, None)
        course_acts.start_tournament(conn, cup.id, None)
        pairing = hold(cup, Random(1), clock)
        lines.append(Target("a round paired and its games queued", pairing, "s", 30).cells())
        app = application(url, f"file://{folder}")
        with serve(app) as address, httpx.Client(base_url=address, timeout=300) as http:
            base = f"/v1/tournaments/{cup.id}"
            for name, path in (
                ("the page", f"/tournaments/{cup.id}"),
                ("the list of a league", f"/leagues/{cup.contest.league.slug}/tournaments"),
                ("the table, by API", f"{base}/standings"),
                ("the last round, by API", f"{base}/pairings?round={chosen.rounds}"),
            ):
                samples, size = request_seconds(http, path, clock)
                lines.append(Target(f"{name}, {size / 1e6:.1f} MB", samples, "s", 0.3).cells())
        print(aligned(lines))
        for table in TABLES:
            row = conn.execute(f"select count(*) from {table}").fetchone()
            assert row is not None
            print(f"rows of {table}: {row[0]:,}")


if __name__ == "__main__":
    main()
