"""Finds the valid results of a season that match a host's predicate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Final

from psycopg.rows import class_row

from ladder.database.db import Connection
from ladder.enums import Json
from ladder.errors import Invalid
from ladder.ids import AgentId, MatchId, SeasonId, TeamId

MOST: Final = 10_000
"""Highest number of matches in one act."""


@dataclass(frozen=True, slots=True)
class Predicate:
    """Conditions on matches; a match must meet all given ones."""

    worker: str | None = None
    """Worker that reported the result."""
    node: str | None = None
    """Node that played the match."""
    machine: str | None = None
    """Machine that joined and played the match: name or id."""
    image_digest: str | None = None
    rules_digest: str | None = None
    since: datetime | None = None
    """Earliest end of the match."""
    until: datetime | None = None
    """The match ended before this moment."""
    agent: AgentId | None = None
    """Agent that played in the match."""
    verdict: str | None = None
    """Verdict of a seat; of the agent's seat, if an agent is given."""
    fault: str | None = None
    """``agent``: a seat (of the agent) lost by its own fault; otherwise the cause of a failed
    attempt.
    """

    def to_json(self) -> dict[str, Json]:
        """Returns the given conditions."""
        return {
            name: value.isoformat() if isinstance(value, datetime) else value
            for name, value in asdict(self).items()
            if value is not None
        }


@dataclass(frozen=True, slots=True)
class SuspectResult:
    """A valid result that matches a predicate."""

    match_id: MatchId
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
    values = {field.name: getattr(predicate, field.name) for field in fields(predicate)}
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
            {**values, "season": season_id, "most": MOST + 1},
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
        names = ", ".join(field.name for field in fields(predicate))
        raise Invalid("predicate", f"give at least one condition on matches: {names}")
    return clauses
