"""The setting of the lease machine: two connections, three workers, a new season per example."""

from __future__ import annotations

from ladder import ids
from ladder.database.db import Connection
from ladder.ids import EntryId
from ladder.leagues import seasons
from ladder.leagues.records import Season
from ladder.matches import workers
from ladder.matches.records import LineupSeat
from tests.integration.ladder.contest import hello, make_contest
from tests.integration.ladder.lease_model import MAX_ATTEMPTS, WORKERS

LONG = 36_000.0  # leases and deadlines expire only when a rule moves them


class Stage:
    """Shared by all examples: two connections, the workers and three agents, but no season."""

    def __init__(self, quick: Connection, slow: Connection) -> None:
        self.quick = quick
        self.slow = slow
        self.contest = make_contest(quick, seats=2)
        self.submissions = [self.contest.submission() for _ in range(3)]
        for worker in WORKERS:
            profiles = ("other",) if worker == "w3" else ("remote",)
            workers.register_worker(quick, hello(worker, profiles=profiles))
        quick.execute("set lock_timeout = '15ms'")

    def season(self) -> tuple[Season, dict[EntryId, LineupSeat]]:
        """A fresh season with an active, remote entry of each agent."""
        season = seasons.create_season(
            self.quick,
            self.contest.league.id,
            seasons.SeasonColumns(
                configuration={},
                configuration_digest="none",
                clock={},
                seats=2,
                max_attempts=MAX_ATTEMPTS,
                lease_seconds=LONG,
                queue_seconds=LONG,
            ),
        )
        seats = {}
        for sub in self.submissions:
            entry = EntryId(ids.new_id("ent"))
            seats[entry] = LineupSeat(entry, sub.id, sub.agent_id, sub.team_id, "remote")
        with self.quick.cursor() as cur:
            cur.executemany(
                "insert into entries (id, season_id, agent_id, team_id, submission_id, profile,"
                " state, mu, sigma) values (%s, %s, %s, %s, %s, 'remote', 'active', 600, 200)",
                [(e, season.id, s.agent_id, s.team_id, s.submission_id) for e, s in seats.items()],
            )
        return season, dict(sorted(seats.items()))
