"""Parts die all the time, but each match is finished and rated exactly once."""

from __future__ import annotations

import itertools
import os
import random
import signal
import time
from collections import Counter, deque
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

from ladder.database import db
from ladder.database.blobs import open_blobs
from ladder.entries.records import EntryState
from ladder.ids import LeagueId, MatchId
from ladder.leagues import leagues
from ladder.people import users
from ladder.ratings.rating_updates import RatedResult, RatingParameters
from tests.chaos.fleet import Fleet
from tests.chaos.quick_leagues import QUICK, make_quick_league
from tests.rated_log import rate_all
from tests.sizes import sized
from tests.waiting import wait_until
from workers.lease_renewal import HeldLease, held_leases

pytestmark = [pytest.mark.bubblewrap]

MATCHES = sized(12, 110)
LANDED = sized(5, 22)
KILL_EVERY_SECONDS = sized(1, 2)
REST_SECONDS = 6.0
"""The longest pause between kills after all accidents, so that slow machines finish matches too."""
LONGEST_SECONDS = 400.0
STRUCK = {"child", "worker", "node"}
MADE = "select count(*) from matches where kind = 'rated'"


def make_league(fleet: Fleet) -> LeagueId:
    """Six quick agents of six teams; short games, short leases, many attempts."""
    with db.connect(fleet.database_url) as conn:
        owner = users.create_user(conn, "owner").id
        geese = QUICK["hungry_geese"]
        terms = {"lease_seconds": 3.0, "max_attempts": 60}
        return make_quick_league(conn, open_blobs(fleet.blobs_url), owner, geese, terms)


def ask(fleet: Fleet, query: str) -> list[tuple[object, ...]]:
    """Rows, with retries during a restart of Postgres."""
    deadline = time.monotonic() + 120
    while True:
        try:
            with psycopg.connect(fleet.database_url) as conn:
                return conn.execute(query.encode()).fetchall()
        except psycopg.OperationalError:
            assert time.monotonic() < deadline
            time.sleep(0.05)


def count(fleet: Fleet, query: str) -> int:
    value = ask(fleet, query)[0][0]
    assert isinstance(value, int)
    return value


class Killer:
    """Kills parts in turn and records the attempts in play at each kill."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.kills: Counter[str] = Counter()
        self.hits: list[tuple[str, list[HeldLease]]] = []
        self.turns = deque(["child", "worker", "node", "child", "child", "child", "worker"])
        self.random = random.Random(7)

    def strike(self) -> None:
        """Kill the next part while matches play. Without a match, kill nothing."""
        deadline = time.monotonic() + 5
        while not (playing := held_leases(self.fleet.run_dir)) and time.monotonic() < deadline:
            time.sleep(0.01)
        if not playing:
            return
        what, victim = self.turns[0], self.random.choice(playing)
        if what == "child":
            with suppress(ProcessLookupError):
                os.kill(victim.pid, signal.SIGKILL)
            struck = [victim]
        elif what == "worker":
            name = self._worker_of(victim.pid)
            if name is None:
                return
            struck = [lease for lease in playing if self._worker_of(lease.pid) == name]
            self.fleet.kill(name)
            self.fleet.start(name)
        else:
            struck = playing
            self.fleet.kill("node")
            self.fleet.start("node")
        self.turns.rotate(-1)
        self.kills[what] += 1
        self.hits.append((what, struck))

    def landed(self) -> Counter[str]:
        """Kills after which at least one running attempt did not finish."""
        rows = ask(self.fleet, "select match_id, attempt from attempts where ended = 'finished'")
        finished = set(rows)
        return Counter(
            what
            for what, struck in self.hits
            if any((lease.match_id, lease.attempt) not in finished for lease in struck)
        )

    def has_landed(self) -> bool:
        """Whether enough kills of each kind interrupted an attempt."""
        landed = self.landed()
        return landed.total() >= LANDED and set(landed) == STRUCK

    def _worker_of(self, pid: int) -> str | None:
        with suppress(OSError):
            parent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
            for name, child in self.fleet.children.items():
                if child.process.pid == parent:
                    return name
        return None


def test_every_match_is_rated_once_despite_killed_processes(fleet: Fleet) -> None:
    with fleet.printing_logs():
        league = make_league(fleet)
        wait_until(
            lambda: count(fleet, "select count(*) from matches where state = 'finished'") > 0,
            "the first match is finished",
        )
        killer, started = Killer(fleet), time.monotonic()
        accidents = {
            sized(1, 6): lambda: fleet.strike("rater"),
            sized(2, 10): fleet.empty_redis,
            sized(3, 16): lambda: fleet.strike("scheduler"),
            sized(4, 20): fleet.restart_postgres,
            sized(5, 26): lambda: fleet.strike("rater"),
            sized(6, 30): fleet.empty_redis,
        }
        for strike in itertools.count(1):
            time.sleep(KILL_EVERY_SECONDS)
            killer.strike()
            fleet.start_stalled_again()
            accidents.pop(strike, lambda: None)()
            if accidents:
                continue
            is_late = time.monotonic() - started > LONGEST_SECONDS
            if is_late or (rest(fleet) and killer.has_landed()):
                break
        with db.connect(fleet.database_url) as conn:
            leagues.set_league_state(conn, league, "paused")
        open_rows = "select count(*) from matches where state in ('queued', 'running')"
        wait_until(lambda: left(fleet, open_rows) == 0, "no match is open")
        unrated = "select (accepted_no - rated_no)::integer from seasons"
        wait_until(lambda: left(fleet, unrated) == 0, "everything is rated")
        report(fleet, killer, time.monotonic() - started)
        check(fleet, killer)


def rest(fleet: Fleet) -> bool:
    """Wait until enough matches are made, at most REST_SECONDS; return whether they are."""
    until = time.monotonic() + REST_SECONDS
    while not (enough := count(fleet, MADE) >= MATCHES) and time.monotonic() < until:
        fleet.start_stalled_again()
        time.sleep(0.1)
    return enough


def left(fleet: Fleet, query: str) -> int:
    """The count of unfinished work; restarts workers that exited."""
    fleet.start_stalled_again()
    return count(fleet, query)


def report(fleet: Fleet, killer: Killer, seconds: float) -> None:
    states = ask(fleet, "select kind, state, count(*) from matches group by 1, 2 order by 1, 2")
    ends = ask(fleet, "select ended, fault, count(*) from attempts group by 1, 2 order by 1, 2")
    tries = ask(fleet, "select attempt, count(*) from matches group by 1 order by 1")
    print(f"\n{seconds:.0f} s; kills {dict(killer.kills)}, landed {dict(killer.landed())};")
    print(
        "Redis killed and emptied twice, Postgres crashed once, rater killed twice, scheduler once"
    )
    print(f"workers that got no wake-up message and were started again: {fleet.stalled}")
    print(f"matches {states}\nattempts by end {ends}\nmatches by attempts needed {tries}")


def check(fleet: Fleet, killer: Killer) -> None:
    rated = count(fleet, MADE)
    assert rated >= 0.9 * MATCHES
    assert killer.landed().total() >= 0.9 * LANDED
    assert set(killer.landed()) == STRUCK
    assert count(fleet, "select count(*) from matches where attempt > 1") > 0
    assert ask(fleet, "select id, state from matches where state <> 'finished'") == []
    finished_once = (
        "select match_id from attempts where ended = 'finished' group by 1 having count(*) <> 1"
    )
    assert ask(fleet, finished_once) == []
    assert count(fleet, "select count(*) from attempts where ended = 'finished'") == count(
        fleet, "select count(*) from matches"
    )
    assert count(fleet, "select count(*) from episodes") == count(
        fleet, "select count(*) from matches"
    )
    assert count(fleet, "select count(distinct match_id) from acceptances") == rated
    assert count(fleet, "select count(*) from acceptances") == rated
    assert count(fleet, "select max(no)::integer from acceptances") == rated
    assert count(fleet, "select count(*) from ratings") == 4 * rated
    assert count(fleet, "select sum(games)::integer from entries") == 4 * rated
    assert count(fleet, "select sum(in_flight)::integer from entries") == 0
    active = [row[0] for row in ask(fleet, "select state from entries")]
    assert active == [EntryState.ACTIVE] * 6
    assert shown(fleet) == recomputed(fleet), "rated in the order of the log"
    faults = ask(fleet, "select verdict, reason from seats where verdict <> 'DONE'")
    assert faults == [], "nobody is blamed for what we did to the machines"


def shown(fleet: Fleet) -> dict[object, tuple[object, object]]:
    """The stored ratings of the entries that played. The last one may be validated too late."""
    rows = ask(fleet, "select id, mu, sigma from entries where games > 0")
    return {row[0]: (row[1], row[2]) for row in rows}


def recomputed(fleet: Fleet) -> dict[object, tuple[object, object]]:
    """The ratings computed anew from the season's log."""
    rows = ask(
        fleet,
        "select a.no, a.match_id, array_agg(s.entry_id order by s.seat),"
        " array_agg(s.placement order by s.seat), array_agg(s.verdict <> 'DONE' order by s.seat)"
        " from acceptances a join seats s using (match_id) group by 1, 2 order by 1",
    )
    results = [
        RatedResult(MatchId(str(match)), _tuple(seated), _tuple(places), _tuple(faults))
        for _, match, seated, places, faults in rows
    ]
    anew = rate_all(RatingParameters(), results)
    return {entry: (found.mu, found.sigma) for entry, found in anew.items()}


def _tuple(values: object) -> tuple[Any, ...]:
    assert isinstance(values, list)
    return tuple(values)
