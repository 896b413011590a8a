"""Results of a batch: one cell for each pairing, and a time until the end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from psycopg.rows import dict_row

from ladder.confidence_intervals import wilson_interval
from ladder.database.db import Connection
from ladder.ids import AgentId, ScrimBatchId, ScrimId, SubmissionId

PACE_SECONDS: Final = 600
"""The time until the end follows from the games of the last ten minutes."""
LEAST_GAMES: Final = 3
"""Finished games before there is an estimate."""


@dataclass(frozen=True, slots=True)
class BatchCell:
    """A pairing of a batch and its results so far."""

    scrim_id: ScrimId
    state: str
    first_submission_id: SubmissionId
    first_number: int
    first_version: int
    first_agent_id: AgentId
    first_name: str
    second_submission_id: SubmissionId
    second_number: int
    second_version: int
    second_agent_id: AgentId
    second_name: str
    games: int
    finished_games: int
    void_games: int
    points: float
    """Sum over games of the share of meetings that the first one won; a tie counts half."""
    first_faults: int
    second_faults: int

    @property
    def score(self) -> float | None:
        """Mean points of a game. None without games."""
        return self.points / self.finished_games if self.finished_games else None

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval of the score."""
        return wilson_interval(self.points, self.finished_games)


@dataclass(frozen=True, slots=True)
class BatchTotal:
    """A submission over all its pairings."""

    submission_id: SubmissionId
    number: int
    version: int
    """Its number among the submissions of its agent."""
    agent_id: AgentId
    name: str
    points: float
    games: int

    @property
    def score(self) -> float | None:
        return self.points / self.games if self.games else None

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval of the score."""
        return wilson_interval(self.points, self.games)


@dataclass(frozen=True, slots=True)
class BatchResults:
    """The matrix of a batch."""

    cells: tuple[BatchCell, ...]
    games: int
    finished_games: int
    void_games: int
    seconds_left: float | None
    """Until the end, at the pace of the last minutes. None: unknown, or it has ended."""

    def totals(self) -> list[BatchTotal]:
        """Each submission over all its pairings, best first."""
        found: dict[SubmissionId, BatchTotal] = {}
        for cell in self.cells:
            for one in (
                BatchTotal(
                    *(cell.first_submission_id, cell.first_number, cell.first_version),
                    *(cell.first_agent_id, cell.first_name),
                    *(cell.points, cell.finished_games),
                ),
                BatchTotal(
                    *(cell.second_submission_id, cell.second_number, cell.second_version),
                    *(cell.second_agent_id, cell.second_name),
                    *(cell.finished_games - cell.points, cell.finished_games),
                ),
            ):
                old = found.get(one.submission_id)
                points, games = (old.points, old.games) if old else (0.0, 0)
                found[one.submission_id] = BatchTotal(
                    *(one.submission_id, one.number, one.version, one.agent_id, one.name),
                    *(points + one.points, games + one.games),
                )
        return sorted(found.values(), key=lambda one: (-(one.score or 0.0), one.submission_id))


def read_results(conn: Connection, batch_id: ScrimBatchId) -> BatchResults:
    """Returns the present matrix of a batch. Void games count nowhere."""
    with conn.cursor(row_factory=dict_row) as cur:
        rows = cur.execute(
            "with met as (select m.scrim_id, m.id, avg(case when x.placement < y.placement then 1.0"
            "     when x.placement = y.placement then 0.5 else 0 end) as points,"
            "   count(distinct x.seat) filter (where x.verdict <> 'DONE') as first_faults,"
            "   count(distinct y.seat) filter (where y.verdict <> 'DONE') as second_faults"
            "   from scrims c join matches m on m.scrim_id = c.id and m.state = 'finished'"
            "   join seats x on x.match_id = m.id and x.submission_id = c.lineup ->> 0"
            "   join seats y on y.match_id = m.id and y.submission_id = c.lineup ->> 1"
            "   where c.batch_id = %(batch)s group by m.scrim_id, m.id)"
            " select c.id as scrim_id, c.state, f.id as first_submission_id,"
            " f.number as first_number,"
            " submission_version(fa.id, f.number) as first_version, fa.id as first_agent_id,"
            " fa.name as first_name,"
            " o.id as second_submission_id, o.number as second_number,"
            " submission_version(oa.id, o.number) as second_version, oa.id as second_agent_id,"
            " oa.name as second_name, c.games, c.finished_games, c.void_games,"
            " coalesce(r.points, 0)::float8 as points,"
            " coalesce(r.first_faults, 0)::integer as first_faults,"
            " coalesce(r.second_faults, 0)::integer as second_faults"
            " from scrims c join submissions f on f.id = c.lineup ->> 0"
            " join agents fa on fa.id = f.agent_id join submissions o on o.id = c.lineup ->> 1"
            " join agents oa on oa.id = o.agent_id left join (select scrim_id,"
            "   sum(points) as points, sum(first_faults) as first_faults,"
            "   sum(second_faults) as second_faults from met group by scrim_id) r"
            "   on r.scrim_id = c.id"
            " where c.batch_id = %(batch)s order by c.id",
            {"batch": batch_id},
        ).fetchall()
    cells = tuple(BatchCell(**row) for row in rows)
    games = sum(cell.games for cell in cells)
    finished = sum(cell.finished_games for cell in cells)
    void = sum(cell.void_games for cell in cells)
    left = games - finished - void
    return BatchResults(cells, games, finished, void, _seconds_left(conn, batch_id, left))


def _seconds_left(conn: Connection, batch_id: ScrimBatchId, left: int) -> float | None:
    row = conn.execute(
        "select count(*), extract(epoch from now() - greatest(min(m.finished_at),"
        "   now() - make_interval(secs => %s)))"
        " from scrims c join matches m on m.scrim_id = c.id and m.state = 'finished'"
        " where c.batch_id = %s and m.finished_at > now() - make_interval(secs => %s)",
        (PACE_SECONDS, batch_id, PACE_SECONDS),
    ).fetchone()
    assert row is not None
    played, seconds = int(row[0]), float(row[1] or 0)
    if left <= 0 or played < LEAST_GAMES or seconds <= 0:
        return None
    return left * seconds / played
