"""Measures rated matches beside queued scrims: ``python -m benchmarks.scrim_queue``.

A simulated fleet plays on a real Postgres, with the scheduler's own functions for pairing and
wake-up messages, the rater's for live ratings, and the workers' own for claims and results. The
messages stand in lists as in Redis: a worker takes them from its queues in turn. A match takes
simulated seconds, and only database calls take real time, which is added to the simulated clock.
Agents, sandboxes and Celery do not run.

New entries come one after another. The time of an entry is from its activation to the end of its
first rated match. The same course runs without scrims, with a few queued and with 10,000.
"""

from __future__ import annotations

import argparse
import heapq
import time
from collections import defaultdict, deque
from dataclasses import dataclass, field
from itertools import count
from random import Random

from benchmarks.report_tables import aligned, describe_machine, quantile
from ladder.database.db import Connection, connect
from ladder.entries import agents, entries
from ladder.ids import EntryId, MatchId
from ladder.matches import history, lease, wake_up_messages, workers
from ladder.matches.records import EpisodeResult, SeatResult
from ladder.ratings import live_ratings
from ladder.scheduling.pairing_round import make_rated_matches
from ladder.scheduling.season_cache import SeasonCache
from ladder.scrims import scrims
from ladder.scrims.scrims import Asker
from tests import servers
from tests.integration.ladder.contest import Contest, digest, hello, make_contest

SLOTS = 8
MATCH_SECONDS = 10.0
ROUND_SECONDS = 1.0
FIELD = 40
TEAMS = 20
FEW = 400
"""Enough scrim games to wait through the whole course."""
LIMIT = 1.10


@dataclass
class Fleet:
    """One worker process with SLOTS slots, and the lists of its messages by queue."""

    conn: Connection
    contest: Contest
    now: float = 0.0
    lists: dict[str, deque[MatchId]] = field(default_factory=lambda: defaultdict(deque))
    ends: list[tuple[float, int, MatchId, int]] = field(default_factory=list)
    numbers: count[int] = field(default_factory=count)
    next_queue: int = 0
    scrims_played: int = 0
    rated_ended: dict[EntryId, float] = field(default_factory=dict)

    def wake(self) -> None:
        """A round of the scheduler: messages for due matches."""
        for queue, match_id in wake_up_messages.mark_due_matches_woken(self.conn):
            self.lists[queue].append(match_id)

    def claim(self) -> None:
        """Free slots take messages from the queues in turn, as a worker of all queues does."""
        while len(self.ends) < SLOTS and any(self.lists.values()):
            queues = sorted(queue for queue, waiting in self.lists.items() if waiting)
            queue = queues[self.next_queue % len(queues)]
            self.next_queue += 1
            match_id = self.lists[queue].popleft()
            order = lease.claim_match(self.conn, match_id, "w1")
            if order is not None:
                end = (self.now + MATCH_SECONDS, next(self.numbers), order.match_id, order.attempt)
                heapq.heappush(self.ends, end)

    def finish_due(self, draw: Random) -> None:
        """Ends the matches whose time is over, with random places."""
        while self.ends and self.ends[0][0] <= self.now:
            _, _, match_id, attempt = heapq.heappop(self.ends)
            match = history.get_match(self.conn, match_id)
            places = draw.sample(range(1, len(match.seats) + 1), len(match.seats))
            seats = [
                SeatResult(seat, place, float(-place), "DONE", None, None, 0.5, 0.1, None)
                for seat, place in enumerate(places)
            ]
            lease.finish_match(
                self.conn, match_id, attempt, "w1", seats, [EpisodeResult(9, digest("replay"))],
                node="node", image_digest="", rules_digest="",
            )  # fmt: skip
            if match.kind == "scrim":
                self.scrims_played += 1
            elif match.kind == "rated":
                for seat in match.seats:
                    if seat.entry_id is not None:
                        self.rated_ended.setdefault(seat.entry_id, self.now)


def times_to_first_match(queued: int, newcomers: int) -> tuple[list[float], int]:
    """The seconds of each new entry, and how many scrim games were played meanwhile."""
    with servers.postgres() as url:
        name = servers.template(url)
        with servers.cloned(url, name) as address, connect(address, autocommit=True) as conn:
            conn.execute("set synchronous_commit = off")
            contest = make_contest(conn, seats=4, scrim_games_daily=10_000)
            for _ in range(FIELD):
                contest.active()
            conn.execute("update entries set games = 1")  # the field has played before
            queue_scrims(contest, queued)
            return run(conn, contest, newcomers)


def queue_scrims(contest: Contest, games: int) -> None:
    """Queues this many scrim games of TEAMS teams, each against its own agent."""
    for _ in range(TEAMS if games else 0):
        user, team = contest.team()
        agent = agents.create_agent(contest.conn, team, "Own", "own").id
        mine = contest.submission(agent).id
        for first in range(0, games // TEAMS, scrims.MOST_GAMES):
            scrims.request_scrim(
                contest.conn,
                Asker(contest.season, team, user),
                [mine] * 4,
                games=min(scrims.MOST_GAMES, games // TEAMS - first),
            )


def run(conn: Connection, contest: Contest, newcomers: int) -> tuple[list[float], int]:
    """Runs the fleet until each newcomer has played."""
    fleet, draw, fields = Fleet(conn, contest), Random(1), SeasonCache()
    began: dict[EntryId, float] = {}
    while len(began) < newcomers or not began.keys() <= fleet.rated_ended.keys():
        conn.execute("update workers set live_until = now() + interval '1 hour'")
        if len(began) < newcomers and int(fleet.now) % 5 == 0:
            began[contest.active()] = fleet.now
        started = time.perf_counter()
        workers.register_worker(conn, hello("w1", slots=SLOTS))
        conn.execute("update matches set lease_until = now() + interval '1 hour'"
                     " where state = 'running'")  # fmt: skip
        fleet.finish_due(draw)
        live_ratings.rate_season(conn, contest.season.id)
        make_rated_matches(conn, draw, fields)
        fleet.wake()
        fleet.claim()
        fleet.now += max(ROUND_SECONDS, time.perf_counter() - started)
    assert entries.list_entries(conn, season_id=contest.season.id, limit=1)
    return [fleet.rated_ended[entry] - at for entry, at in began.items()], fleet.scrims_played


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--queued", type=int, default=10_000)
    parser.add_argument("--newcomers", type=int, default=100)
    asked = parser.parse_args()
    print(describe_machine())
    rows = []
    late = []
    for queued in (0, FEW, asked.queued):
        times, played = times_to_first_match(queued, asked.newcomers)
        late.append(quantile(times, 0.95))
        rows.append(
            (
                f"{queued:,}",
                *(f"{quantile(times, 0.5):.1f} s", f"{late[-1]:.1f} s", f"{played:,}"),
                f"{len(times)}",
            )
        )
    head = ("scrim games queued", "median", "95 %", "scrim games played", "entries")
    print("\nTime from activation to the end of the first rated match (simulated fleet, real SQL)")
    print(aligned([head, *rows]))
    print(f"95th percentile grows by {100 * (late[-1] / late[0] - 1):+.1f} % (aim: below 10 %)")
    if late[-1] > LIMIT * late[0]:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
