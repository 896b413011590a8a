"""Reads a team's feed: validations, pauses, results, corrections, scrims, comparisons, medals.

The feed is read from existing rows; nothing is written for it. An item's key is its time and its
subject. So keys sort by time, and a reader can continue from any key. Results and medals of a
league are shown only to viewers who may see the league now.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from psycopg.rows import dict_row

from ladder.database.db import Connection
from ladder.errors import LadderError
from ladder.ids import (
    AgentId,
    ComparisonId,
    EntryId,
    LeagueId,
    MatchId,
    ScrimBatchId,
    ScrimId,
    ScrimRequestId,
    SeasonId,
)
from ladder.leagues.medals import Medal, MedalStatus
from ladder.people import visibility
from ladder.people.records import Viewer
from ladder.standings import leaderboard

SETTLE_SECONDS: Final = 2.0
"""Age at which an item is delivered: earlier transactions have then ended."""
MOST_RESULTS_BEHIND: Final = 300
"""Rated results of an entry that a follower can miss; beyond that, read the pages."""
KEY: Final = re.compile(r"(\d{10,17})\.([a-z0-9_.]{0,62})")
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class FeedItemKind(StrEnum):
    PASSED = "passed"
    """Passed validation; the entry plays."""
    FAILED = "failed"
    """Failed validation; the reason says why."""
    PAUSED = "paused"
    """A remote agent has three strikes; the reason describes the last one."""
    RESUMED = "resumed"
    """The agent answers again, and the entry plays."""
    GIVEN_UP = "given_up"
    """A paused entry was retired; the reason says why."""
    RATED = "rated"
    """A rated match was counted."""
    CORRECTED = "corrected"
    """A withdrawn result changed the rating. The match is one of the entry's own withdrawn matches,
    or another one. Other withdrawals of the same stretch of the log are included.
    """
    SCRIM = "scrim"
    """All games of a scrim are over."""
    SCRIM_ASKED = "scrim_asked"
    """A team asked another one for a scrim; ``team_name`` is the other side in all requests."""
    SCRIM_ACCEPTED = "scrim_accepted"
    SCRIM_DECLINED = "scrim_declined"
    SCRIM_WITHDRAWN = "scrim_withdrawn"
    SCRIM_EXPIRED = "scrim_expired"
    BATCH = "batch"
    """All scrims of a batch are over."""
    COMPARISON = "comparison"
    """A comparison ended by itself; ``verdict`` is better, not_better or cannot_tell."""
    SEALED = "sealed"
    """A medal was sealed; no game can remove it."""
    UNSEALED = "unsealed"
    """An audited act revoked a seal."""
    AWARDED = "awarded"
    """The final standing awarded a medal that was not sealed."""


@dataclass(frozen=True, slots=True)
class FeedItem:
    """One event. Fields that do not belong to its kind are None."""

    key: str
    kind: FeedItemKind
    at: datetime
    league_id: LeagueId
    league: str
    entry_id: EntryId | None
    agent_id: AgentId | None
    agent_name: str | None
    match_id: MatchId | None
    scrim_id: ScrimId | None
    request_id: ScrimRequestId | None
    batch_id: ScrimBatchId | None
    comparison_id: ComparisonId | None
    reason: str | None
    placement: int | None
    seats: int | None
    verdict: str | None
    mu_before: float | None
    mu_after: float | None
    finished_games: int | None
    games: int | None
    team_name: str | None
    """Team of a medal, or the other team of a request for a scrim."""
    medal: Medal | None
    chance: float | None
    """Chance of this class or a better one, by the standing that gave the medal."""


def latest_items(
    conn: Connection, viewer: Viewer, *, before: str | None = None, limit: int = 50
) -> list[FeedItem]:
    """Returns items of the viewer's teams, newest first, before ``before``. Raises LadderError."""
    at, about = _split_key(before) if before else (EPOCH + timedelta(days=365 * 200), "")
    found = _select_items(conn, viewer, (at, about), limit, is_forward=False)
    least = found[-1].at if len(found) == limit else EPOCH
    given = [
        item for item in _awarded_medals(conn, viewer, least, at) if _sort_key(item) < (at, about)
    ]
    return sorted([*found, *given], key=_sort_key, reverse=True)[:limit] if given else found


def items_after(conn: Connection, viewer: Viewer, after: str, limit: int) -> list[FeedItem]:
    """Returns settled items newer than ``after``, oldest first.

    Each entry's results are limited to its newest MOST_RESULTS_BEHIND. Raises LadderError.
    """
    at, about = _split_key(after)
    until = _split_key(current_key(conn))[0]
    found = _select_items(conn, viewer, (at, about), limit, is_forward=True)
    most = found[-1].at if len(found) == limit else until
    given = [
        item for item in _awarded_medals(conn, viewer, at, most) if _sort_key(item) > (at, about)
    ]
    return sorted([*found, *given], key=_sort_key)[:limit] if given else found


def time_of_key(key: str) -> datetime:
    """Returns the time in a key. Raises LadderError."""
    return _split_key(key)[0]


def current_key(conn: Connection) -> str:
    """Returns the key that precedes all items that settle from now on."""
    row = conn.execute("select clock_timestamp()").fetchone()
    assert row is not None
    return _make_key(row[0] - timedelta(seconds=SETTLE_SECONDS), "")


def _select_items(
    conn: Connection,
    viewer: Viewer,
    beyond: tuple[datetime, str],
    limit: int,
    *,
    is_forward: bool,
) -> list[FeedItem]:
    """Returns the items next to the time and name ``beyond``: settled newer ones, or older ones."""
    given: dict[str, Any] = {
        "teams": sorted(viewer.team_ids),
        "leagues": _visible_leagues(conn, viewer),
        "at": beyond[0],
        "about": beyond[1],
        "limit": limit,
    }
    with conn.cursor(row_factory=dict_row) as cur:
        return [_item_of_row(row) for row in cur.execute(_query(is_forward=is_forward), given)]


def _query(*, is_forward: bool) -> str:
    """The SQL of all kinds of items. Each ``select`` of ``items`` is a kind."""
    side, order, settled, newest = "<", "desc", "true", ""
    if is_forward:
        side, order = ">", "asc"
        settled = f"at <= clock_timestamp() - interval '{SETTLE_SECONDS} seconds'"
        newest = f"order by no desc limit {MOST_RESULTS_BEHIND}"
    beyond = f'(at, about) {side} (%(at)s, %(about)s collate "C") and {settled}'
    return (
        "with own as (select e.id, e.season_id, e.agent_id, a.name, e.state, e.reason,"  # noqa: S608
        "   e.activated_at, e.validation_match_id, s.league_id = any (%(leagues)s) as is_seen"
        "   from agents a join entries e on e.agent_id = a.id join seasons s on s.id = e.season_id"
        "   where a.team_id = any (%(teams)s)),"
        " counted as ("
        "   select r.* from own o cross join lateral ("
        "     select case c.act when 'accept' then 'rated' else 'corrected' end as kind,"
        "       r.created_at as at, (r.entry_id || '.' || r.match_id) collate \"C\" as about,"
        "       o.season_id, o.id as entry_id, o.agent_id, o.name, r.match_id, r.mu_before, r.mu"
        f"     from (select * from ratings where entry_id = o.id {newest}) r"
        "     join acceptances c on c.season_id = r.season_id and c.no = r.no where"
        "       (r.created_at, (r.entry_id || '.' || r.match_id) collate \"C\")"
        f'      {side} (%(at)s, %(about)s collate "C")'
        f"    order by r.no {order} limit %(limit)s) r where o.is_seen),"
        " seals as ("
        "   select z.season_id, z.team_id, t.name, z.version, z.medal, z.chance, z.sealed_at,"
        "     u.unsealed_at from sealed_medals z join seasons s on s.id = z.season_id"
        "   join teams t on t.id = z.team_id left join unsealed_medals u"
        "     on (u.season_id, u.team_id, u.version) = (z.season_id, z.team_id, z.version)"
        "   where z.team_id = any (%(teams)s) and s.league_id = any (%(leagues)s)),"
        " items as ("
        "   select kind, at, about, season_id, entry_id, agent_id, name, match_id,"
        "     null as scrim_id, null as reason, mu_before, mu, null::integer as finished_games,"
        "     null::integer as games, null as team_name, null as medal,"
        "     null::double precision as chance from counted"
        "   union all"
        "   select case o.state when 'rejected' then 'failed' else 'passed' end, m.finished_at,"
        "     (o.id || '.' || m.id) collate \"C\", o.season_id, o.id, o.agent_id, o.name, m.id,"
        "     null, case o.state when 'rejected' then o.reason end, null, null, null, null,"
        "     null, null, null"
        "   from own o join matches m on m.id = coalesce((select validation_match_id from pauses"
        "     where entry_id = o.id order by paused_at limit 1), o.validation_match_id)"
        "   where m.finished_at is not null"
        "     and (o.state = 'rejected' or o.activated_at is not null)"
        "   union all"
        "   select k.kind, k.at, (o.id || '.' || k.kind) collate \"C\", o.season_id, o.id,"
        "     o.agent_id, o.name, null, null, k.reason, null, null, null, null, null, null, null"
        "   from own o join pauses p on p.entry_id = o.id cross join lateral (values"
        "     ('paused', p.paused_at, p.reason), (case p.outcome when 'active' then 'resumed'"
        "     else 'given_up' end, p.ended_at, case p.outcome when 'retired' then o.reason end))"
        "     k(kind, at, reason) where k.at is not null"
        "   union all"
        "   select 'scrim', c.finished_at, c.id collate \"C\", c.season_id, null, null, null, null,"
        "     c.id, null, null, null, c.finished_games, c.games, null, null, null"
        "   from scrims c where (c.team_id = any (%(teams)s) or c.result_audience <> 'asker'"
        "     and exists (select 1 from scrim_requests q where q.scrim_id = c.id"
        "       and q.asked_team_id = any (%(teams)s)))"
        "     and c.state = 'finished' and c.batch_id is null and c.comparison_id is null"
        "   union all"
        "   select 'batch', b.ended_at, b.id, b.season_id, null, null, null, null, null, null,"
        "     null, null, sum(c.finished_games)::integer, sum(c.games)::integer, null, null, null"
        "   from scrim_batches b join scrims c on c.batch_id = b.id"
        "   where b.team_id = any (%(teams)s) and b.ended_at is not null group by b.id"
        "   union all"
        "   select 'comparison', x.finished_at, x.id, x.season_id, null, null, null, null, null,"
        "     x.verdict, null, null, null, null, null, null, null from comparisons x"
        "   where x.team_id = any (%(teams)s) and x.state = 'finished'"
        "   union all"
        "   select k.kind, k.at, (r.id || '.' || k.kind) collate \"C\", r.season_id, null, null,"
        "     null, null, r.scrim_id, case when r.team_id = any (%(teams)s) or k.kind ="
        "     'scrim_declined' then nullif(r.answer, '') end, null, null, null, r.games,"
        "     case when r.team_id = any (%(teams)s) then o.name else t.name end, null, null"
        "   from scrim_requests r join teams t on t.id = r.team_id"
        "   join teams o on o.id = r.asked_team_id cross join lateral (values"
        "     ('scrim_asked', r.created_at), (case when r.state <> 'asked' then 'scrim_' || r.state"
        "     end, r.answered_at)) k(kind, at) where k.at is not null"
        "     and (r.team_id = any (%(teams)s) or r.asked_team_id = any (%(teams)s))"
        "   union all"
        "   select 'sealed', z.sealed_at, (z.team_id || '.' || z.version) collate \"C\","
        "     z.season_id, null, null, null, null, null, null, null, null, null, null, z.name,"
        "     z.medal, z.chance from seals z"
        "   union all"
        "   select 'unsealed', z.unsealed_at, (z.team_id || '.' || z.version) collate \"C\","
        "     z.season_id, null, null, null, null, null, null, null, null, null, null, z.name,"
        "     z.medal, null from seals z where z.unsealed_at is not null)"
        " select i.kind, i.at, i.about, l.id as league_id, l.title as league, i.entry_id,"
        " i.agent_id, i.name as agent_name, i.match_id, i.scrim_id, t.placement,"
        " case when i.kind <> 'comparison' then i.reason end as reason,"
        " case when i.kind = 'rated' then s.seats end as seats,"
        " case when i.kind = 'comparison' then i.reason else t.verdict end as verdict,"
        " case when s.measures is null then i.mu_before end as mu_before,"
        " case when s.measures is null then i.mu end as mu_after, i.finished_games, i.games,"
        " i.team_name, i.medal, i.chance"
        f" from (select * from items where {beyond}"
        f"   order by at {order}, about {order} limit %(limit)s) i"
        " join seasons s on s.id = i.season_id join leagues l on l.id = s.league_id"
        " left join lateral (select placement, verdict from seats where match_id = i.match_id"
        "   and entry_id = i.entry_id and i.kind = 'rated' order by placement limit 1) t on true"
        f" order by i.at {order}, i.about {order}"
    )


def _item_of_row(row: dict[str, Any]) -> FeedItem:
    about = row.pop("about")
    return FeedItem(
        **{
            **row,
            "key": _make_key(row["at"], about),
            "request_id": about.split(".")[0] if about.startswith("srq_") else None,
            "batch_id": about if about.startswith("sbt_") else None,
            "comparison_id": about if about.startswith("cmp_") else None,
            "kind": FeedItemKind(row["kind"]),
            "medal": row["medal"] and Medal(row["medal"]),
        }
    )


def _visible_leagues(conn: Connection, viewer: Viewer) -> list[LeagueId]:
    """Returns leagues visible to the viewer in which their teams have played."""
    seen, values = visibility.visible_leagues(viewer)
    rows = conn.execute(
        "select distinct l.id from agents a join entries e on e.agent_id = a.id"  # noqa: S608
        " join seasons s on s.id = e.season_id join leagues l on l.id = s.league_id"
        f" where a.team_id = any (%s) and {seen}",
        (sorted(viewer.team_ids), *values),
    )
    return [LeagueId(row[0]) for row in rows]


def _awarded_medals(
    conn: Connection, viewer: Viewer, since: datetime, until: datetime
) -> list[FeedItem]:
    """Returns unsealed medals that final standings awarded in this time.

    They have no rows; they come from the board. Seasons of one seat have none.
    """
    seen, values = visibility.visible_leagues(viewer)
    rows = conn.execute(
        "select s.id, s.final_version, coalesce(v.made_at, s.official_at) as at, l.id, l.title"  # noqa: S608
        " from seasons s join leagues l on l.id = s.league_id"
        " left join standings v on v.season_id = s.id and v.version = s.final_version"
        " where s.final_version is not null"
        " and coalesce(v.made_at, s.official_at) between %s and %s"
        " and s.id in (select e.season_id from agents a"
        f"   join entries e on e.agent_id = a.id where a.team_id = any (%s)) and {seen}",
        (since, until, sorted(viewer.team_ids), *values),
    ).fetchall()
    return [
        FeedItem(
            key=_make_key(at, f"{row.team_id}.{version}"),
            kind=FeedItemKind.AWARDED,
            at=at,
            league_id=LeagueId(league_id),
            league=league,
            entry_id=row.entry_id,
            agent_id=row.agent_id,
            agent_name=row.agent_name,
            match_id=None,
            scrim_id=None,
            request_id=None,
            batch_id=None,
            comparison_id=None,
            reason=None,
            placement=None,
            seats=None,
            verdict=None,
            mu_before=None,
            mu_after=None,
            finished_games=None,
            games=None,
            team_name=row.team_name,
            medal=row.medal,
            chance=row.chance,
        )
        for season_id, version, at, league_id, league in rows
        for row in leaderboard.read_board(conn, SeasonId(season_id)).rows
        if row.team_id in viewer.team_ids and row.status is MedalStatus.AWARDED
    ]


def _sort_key(item: FeedItem) -> tuple[datetime, str]:
    return item.at, _split_key(item.key)[1]


def _make_key(at: datetime, about: str) -> str:
    return f"{(at - EPOCH) // timedelta(microseconds=1)}.{about}"


def _split_key(key: str) -> tuple[datetime, str]:
    found = KEY.fullmatch(key)
    if found is None:
        raise LadderError("key: use the key of a feed item")
    return EPOCH + timedelta(microseconds=int(found[1])), found[2]
