"""What happened to a team's agents: validations, rated results, corrections, scrims.

Nothing is written for it: the feed is read from the rows that tell these things anyway. An item's
key is its moment and what it is about, so keys sort by time, and a reader goes on from any of them.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from psycopg.rows import dict_row

from ladder.ids import AgentId, EntryId, LeagueId, MatchId, ScrimId, TeamId
from ladder.model import LadderError
from ladder.store.db import Connection

SETTLE_SECONDS: Final = 2.0
"""Items are followed once they are this old: transactions that began before them have ended."""
LOOKED_BACK: Final = 300
"""Rated results of an entry that a follower can be behind; who is further behind reads pages."""
KEY: Final = re.compile(r"(\d{10,17})\.([a-z0-9_.]{0,62})")
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Kind(StrEnum):
    PASSED = "passed"
    """A validation was passed: the entry plays."""
    FAILED = "failed"
    """A validation was failed; the reason says why."""
    RATED = "rated"
    """A rated match was counted."""
    CORRECTED = "corrected"
    """A result was taken back, and the rating with it."""
    SCRIM = "scrim"
    """All games of a scrim are over."""


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that happened. What does not belong to its kind is None."""

    key: str
    kind: Kind
    at: datetime
    league_id: LeagueId
    league: str
    entry_id: EntryId | None
    agent_id: AgentId | None
    agent_name: str | None
    match_id: MatchId | None
    scrim_id: ScrimId | None
    reason: str | None
    placement: int | None
    seats: int | None
    verdict: str | None
    mu_before: float | None
    mu_after: float | None
    finished_games: int | None
    games: int | None


def latest(
    conn: Connection, team_ids: Collection[TeamId], *, before: str | None = None, limit: int = 50
) -> list[Item]:
    """Items of these teams, newest first, older than ``before``. Raises LadderError."""
    at, about = _split(before) if before else (EPOCH + timedelta(days=365 * 200), "")
    return _read(conn, team_ids, "<", "desc", at, about, "true", "", limit)


def follow(conn: Connection, team_ids: Collection[TeamId], after: str, limit: int) -> list[Item]:
    """Items newer than ``after`` that have settled, oldest first; of each entry's results among its
    newest LOOKED_BACK. Raises LadderError."""
    at, about = _split(after)
    settled = f"at <= clock_timestamp() - interval '{SETTLE_SECONDS} seconds'"
    newest = f"order by no desc limit {LOOKED_BACK}"
    return _read(conn, team_ids, ">", "asc", at, about, settled, newest, limit)


def now(conn: Connection) -> str:
    """The key that everything settled from now on comes after."""
    row = conn.execute("select clock_timestamp()").fetchone()
    assert row is not None
    return _key(row[0] - timedelta(seconds=SETTLE_SECONDS), "")


def _read(
    conn: Connection,
    team_ids: Collection[TeamId],
    side: str,
    order: str,
    at: datetime,
    about: str,
    settled: str,
    newest: str,
    limit: int,
) -> list[Item]:
    """``side``, ``order``, ``settled`` and ``newest`` are words of ours."""
    beyond = f'(at, about) {side} (%(at)s, %(about)s collate "C") and {settled}'
    query = (
        "with own as (select e.id, e.season_id, e.agent_id, a.name, e.state, e.reason,"  # noqa: S608
        "   e.activated_at, e.validation_match_id from agents a join entries e"
        "   on e.agent_id = a.id where a.team_id = any (%(teams)s)),"
        " counted as ("
        "   select r.* from own o cross join lateral ("
        "     select case c.act when 'accept' then 'rated' else 'corrected' end as kind,"
        "       r.created_at as at, (r.entry_id || '.' || r.match_id) collate \"C\" as about,"
        "       o.season_id, o.id as entry_id, o.agent_id, o.name, r.match_id, r.mu_before, r.mu"
        f"     from (select * from ratings where entry_id = o.id {newest}) r"
        "     join acceptances c on c.season_id = r.season_id and c.no = r.no where"
        "       (r.created_at, (r.entry_id || '.' || r.match_id) collate \"C\")"
        f'      {side} (%(at)s, %(about)s collate "C")'
        f"    order by r.no {order} limit %(limit)s) r),"
        " items as ("
        "   select kind, at, about, season_id, entry_id, agent_id, name, match_id,"
        "     null as scrim_id, null as reason, mu_before, mu, null::integer as finished_games,"
        "     null::integer as games from counted"
        "   union all"
        "   select case o.state when 'rejected' then 'failed' else 'passed' end, m.finished_at,"
        "     (o.id || '.' || m.id) collate \"C\", o.season_id, o.id, o.agent_id, o.name, m.id,"
        "     null, case o.state when 'rejected' then o.reason end, null, null, null, null"
        "   from own o join matches m on m.id = o.validation_match_id"
        "   where m.finished_at is not null"
        "     and (o.state = 'rejected' or o.activated_at is not null)"
        "   union all"
        "   select 'scrim', c.finished_at, c.id collate \"C\", c.season_id, null, null, null, null,"
        "     c.id, null, null, null, c.finished_games, c.games"
        "   from scrims c where c.team_id = any (%(teams)s) and c.state = 'finished')"
        " select i.kind, i.at, i.about, l.id as league_id, l.title as league, i.entry_id,"
        " i.agent_id, i.name as agent_name, i.match_id, i.scrim_id, i.reason, t.placement,"
        " case when i.kind = 'rated' then s.seats end as seats, t.verdict,"
        " case when s.measures is null then i.mu_before end as mu_before,"
        " case when s.measures is null then i.mu end as mu_after, i.finished_games, i.games"
        f" from (select * from items where {beyond}"
        f"   order by at {order}, about {order} limit %(limit)s) i"
        " join seasons s on s.id = i.season_id join leagues l on l.id = s.league_id"
        " left join lateral (select placement, verdict from seats where match_id = i.match_id"
        "   and entry_id = i.entry_id and i.kind = 'rated' order by placement limit 1) t on true"
        f" order by i.at {order}, i.about {order}"
    )
    given: dict[str, Any] = {"teams": sorted(team_ids), "at": at, "about": about, "limit": limit}
    with conn.cursor(row_factory=dict_row) as cur:
        return [
            Item(
                **{
                    "key": _key(row["at"], row.pop("about")),
                    **row,
                    "kind": Kind(row["kind"]),
                }
            )
            for row in cur.execute(query, given)
        ]


def _key(at: datetime, about: str) -> str:
    return f"{(at - EPOCH) // timedelta(microseconds=1)}.{about}"


def _split(key: str) -> tuple[datetime, str]:
    found = KEY.fullmatch(key)
    if found is None:
        raise LadderError("key: take it from an item of the feed")
    return EPOCH + timedelta(microseconds=int(found[1])), found[2]
