"""Finds the valid results of a season that match a host's predicate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Final, Literal

from psycopg.rows import class_row
from pydantic import ConfigDict, Field

from ladder.database.db import Connection
from ladder.errors import Invalid
from ladder.field_types import RECORD, AwareDatetime, FilledLine, Key, RequestModel
from ladder.ids import MatchId, SeasonId, TeamId

MOST: Final = 10_000
"""Highest number of matches in one act."""


class Predicate(RequestModel):
    """Conditions on matches; a match must meet all given ones, and at least one is required."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"node": "node-7"}]})
    worker: FilledLine | None = None
    """Worker that reported the result."""
    node: FilledLine | None = None
    """Node that played the match."""
    machine: FilledLine | None = None
    """Machine that joined and played the match: name or id."""
    image_digest: FilledLine | None = None
    rules_digest: FilledLine | None = None
    since: AwareDatetime | None = None
    """Finished then or later."""
    until: AwareDatetime | None = None
    """Finished before."""
    agent: Key | None = None
    """Id of an agent in the match."""
    verdict: Literal["DONE", "ERROR", "INVALID", "TIMEOUT"] | None = None
    """Verdict of a seat; of the agent's seat, if an agent is given."""
    fault: Literal["agent", "worker", "host", "game"] | None = None
    """`agent`: a seat lost by its own fault; otherwise who caused a failed earlier attempt."""


@dataclass(frozen=True, slots=True)
class SuspectResult:
    """A result that counts, and the worker that reported it."""

    __pydantic_config__ = RECORD
    match_id: Annotated[MatchId, Field(examples=["mat_01j8x6m3c2k4v9q0w7r5t1y8z3"])]
    no: int
    """Number in the season's log."""
    finished_at: datetime
    worker: str
    node: str
    image_digest: str
    rules_digest: str


def find_suspects(
    conn: Connection, season_id: SeasonId, predicate: Predicate
) -> list[SuspectResult]:
    """Returns matching valid results that are not being rejudged, oldest first.

    Raises LadderError (empty predicate, too many matches).
    """
    where = " and ".join(_sql_conditions(predicate))
    with conn.cursor(row_factory=class_row(SuspectResult)) as cur:
        found = cur.execute(
            "select m.id as match_id, a.no, m.finished_at, t.worker, t.node, t.image_digest,"  # noqa: S608
            " t.rules_digest from acceptances a join matches m on m.id = a.match_id"
            " join attempts t on t.match_id = m.id and t.ended = 'finished'"
            " where a.season_id = %(season)s and a.act = 'accept'"
            " and not exists (select 1 from acceptances w where w.match_id = a.match_id"
            "   and w.act = 'withdraw')"
            " and not exists (select 1 from matches r where r.rejudges = m.id"
            "   and r.state <> 'void')"
            " and not exists (select 1 from rejudged d where d.match_id = m.id"
            "   and d.by_match_id is null and d.refusal is null)"
            f" and {where} order by a.no limit %(most)s",
            {**predicate.model_dump(), "season": season_id, "most": MOST + 1},
        ).fetchall()
    if len(found) > MOST:
        raise Invalid("predicate", f"narrow it: it matches more than {MOST:,} matches")
    return found


def teams_of_suspects(conn: Connection, suspects: Sequence[SuspectResult]) -> list[TeamId]:
    """Returns the teams that played in these matches."""
    rows = conn.execute(
        "select distinct team_id from seats where match_id = any (%s) order by team_id",
        ([one.match_id for one in suspects],),
    )
    return [TeamId(row[0]) for row in rows]


def _sql_conditions(predicate: Predicate) -> list[str]:
    """Returns SQL conditions on the match ``m`` and the attempt ``t`` with its result."""
    clauses = [
        f"t.{name} = %({name})s"
        for name in ("worker", "node", "image_digest", "rules_digest")
        if getattr(predicate, name) is not None
    ]
    if predicate.machine is not None:
        clauses.append(
            "t.machine_id in (select id from machines"
            " where id = %(machine)s or lower(name) = lower(%(machine)s))"
        )
    if predicate.since is not None:
        clauses.append("m.finished_at >= %(since)s")
    if predicate.until is not None:
        clauses.append("m.finished_at < %(until)s")
    seat = ["x.agent_id = %(agent)s"] if predicate.agent is not None else []
    if predicate.verdict is not None:
        seat.append("x.verdict = %(verdict)s")
    if predicate.fault == "agent":
        seat.append("x.verdict <> 'DONE'")
    elif predicate.fault is not None:
        clauses.append(
            "exists (select 1 from attempts f where f.match_id = m.id and f.fault = %(fault)s)"
        )
    if seat:
        both = " and ".join(seat)
        clauses.append(f"m.id in (select x.match_id from seats x where {both})")  # noqa: S608
    if not clauses:
        names = ", ".join(Predicate.model_fields)
        raise Invalid("predicate", f"give at least one condition on matches: {names}")
    return clauses
