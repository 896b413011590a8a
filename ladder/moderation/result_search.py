"""Finds the valid results of a season that match a host's predicate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Final, Literal

from pydantic import ConfigDict, Field

from ladder.database.db import Connection, fetch
from ladder.errors import Invalid
from ladder.field_types import RECORD, AwareDatetime, FilledLine, Key, RequestModel
from ladder.ids import MatchId, SeasonId, TeamId

MOST: Final = 10_000
"""Highest number of matches in one act."""
FITS: Final = """
    (%(worker)s::text is null or t.worker = %(worker)s)
    and (%(node)s::text is null or t.node = %(node)s)
    and (%(image_digest)s::text is null or t.image_digest = %(image_digest)s)
    and (%(rules_digest)s::text is null or t.rules_digest = %(rules_digest)s)
    and (%(machine)s::text is null or t.machine_id in (
      select id from machines where id = %(machine)s or lower(name) = lower(%(machine)s)))
    and (%(since)s::timestamptz is null or m.finished_at >= %(since)s)
    and (%(until)s::timestamptz is null or m.finished_at < %(until)s)
    and (%(agent)s::text is null and %(verdict)s::text is null
        and %(fault)s::text is distinct from 'agent'
      or exists (select 1 from seats x where x.match_id = m.id
        and (%(agent)s::text is null or x.agent_id = %(agent)s)
        and (%(verdict)s::text is null or x.verdict = %(verdict)s)
        and (%(fault)s::text is distinct from 'agent' or x.verdict <> 'DONE')))
    and (coalesce(%(fault)s::text, 'agent') = 'agent' or exists (
      select 1 from attempts f where f.match_id = m.id and f.fault = %(fault)s))"""
"""Whether the match ``m`` and the attempt ``t`` with its result meet a predicate."""


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
    if not predicate.model_dump(exclude_none=True):
        names = ", ".join(Predicate.model_fields)
        raise Invalid("predicate", f"give at least one condition on matches: {names}")
    results = fetch(
        conn,
        SuspectResult,
        f"""select m.id as match_id, a.no, m.finished_at, t.worker, t.node, t.image_digest,
          t.rules_digest
        from acceptances a join matches m on m.id = a.match_id
        join attempts t on t.match_id = m.id and t.ended = 'finished'
        where a.season_id = %(season)s and a.act = 'accept'
          and not exists (
            select 1 from acceptances w where w.match_id = a.match_id and w.act = 'withdraw')
          and not exists (select 1 from matches r where r.rejudges = m.id and r.state <> 'void')
          and not exists (select 1 from rejudged d
            where d.match_id = m.id and d.by_match_id is null and d.refusal is null)
          and {FITS}
        order by a.no limit %(most)s""",
        {**predicate.model_dump(), "season": season_id, "most": MOST + 1},
    )
    if len(results) > MOST:
        raise Invalid("predicate", f"narrow it: it matches more than {MOST:,} matches")
    return results


def teams_of_suspects(conn: Connection, suspects: Sequence[SuspectResult]) -> list[TeamId]:
    """Returns the teams that played in these matches."""
    query = "select distinct team_id from seats where match_id = any (%s) order by team_id"
    return fetch(conn, TeamId, query, ([suspect.match_id for suspect in suspects],))
