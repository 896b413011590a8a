"""The feed of a person: the person's notices, and rated results of the person's teams.

An item's key is its time and its subject. So keys sort by time, and a reader can continue from any
key. Results of a league are shown only to viewers who may see the league now.
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
from ladder.field_types import RECORD
from ladder.ids import LeagueId
from ladder.notices.kinds import Notice, NoticeKind
from ladder.people import visibility
from ladder.people.records import Viewer

SETTLE_SECONDS: Final = 2.0
"""Age at which an item is delivered: earlier transactions have then ended."""
MOST_RESULTS_BEHIND: Final = 300
"""Most rated results per entry that a follower can catch up on; beyond that, read the pages."""
KEY: Final = re.compile(r"(\d{10,17})\.([a-z0-9_.]{0,62})")
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
FAR: Final = EPOCH + timedelta(days=365 * 200)


class ResultKind(StrEnum):
    RATED = "rated"
    """A rated match was counted."""
    CORRECTED = "corrected"
    """A withdrawn result changed the rating. The match is one of the entry's own withdrawn matches,
    or another one. Other withdrawals of the same stretch of the log are included.
    """


@dataclass(frozen=True, slots=True)
class RatedResult:
    """What a rated match brought an entry."""

    __pydantic_config__ = RECORD
    placement: int | None
    """Null for a result that was taken back."""
    seats: int
    verdict: str | None
    mu_before: float | None
    """Live rating before the match counted. Games of one seat have none."""
    mu_after: float | None


@dataclass(frozen=True, slots=True)
class FeedItem:
    """A notice of yours, or a rated result of one of your teams."""

    __pydantic_config__ = RECORD
    key: str
    """Sorts by time; a stream resumes from it."""
    kind: NoticeKind | ResultKind
    at: datetime
    title: str
    text: str
    path: str
    """Page of this site that shows more."""
    league: str | None
    """Title of its league."""
    subject: dict[str, str]
    """Ids of what it is about, such as `agent_id`."""
    result: RatedResult | None
    """Null for a notice."""


def latest_items(
    conn: Connection, viewer: Viewer, *, before: str | None = None, limit: int = 50
) -> list[FeedItem]:
    """Returns the viewer's items, newest first, before ``before``. Raises LadderError."""
    at, about = _split_key(before) if before else (FAR, "")
    return _select_items(conn, viewer, (at, about), FAR, limit, is_forward=False)


def items_after(conn: Connection, viewer: Viewer, after: str, limit: int) -> list[FeedItem]:
    """Returns settled items newer than ``after``, oldest first.

    Each entry's results are limited to its newest MOST_RESULTS_BEHIND. Raises LadderError.
    """
    until = time_of_key(current_key(conn))
    return _select_items(conn, viewer, _split_key(after), until, limit, is_forward=True)


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
    until: datetime,
    limit: int,
    *,
    is_forward: bool,
) -> list[FeedItem]:
    """Returns the items next to the time and name ``beyond``, up to ``until``."""
    values: dict[str, Any] = {
        "user": viewer.user_id,
        "teams": sorted(viewer.team_ids),
        "leagues": _visible_leagues(conn, viewer),
        "at": beyond[0],
        "about": beyond[1],
        "until": until,
        "limit": limit,
    }
    notices = conn.execute(_notices_query(is_forward=is_forward), values)
    items = [_item_of_notice(Notice.of_row(row[0])) for row in notices]
    with conn.cursor(row_factory=dict_row) as cur:
        results = cur.execute(_results_query(is_forward=is_forward), values)
        items += [_item_of_result(row) for row in results]
    return sorted(items, key=_sort_key, reverse=not is_forward)[:limit]


def _notices_query(*, is_forward: bool) -> str:
    side, order = (">", "asc") if is_forward else ("<", "desc")
    return f"""
        select notices_view(array(
            select n.id
              from notices n
              join notice_events e on e.id = n.event_id
             where n.user_id = %(user)s
               and n.is_on_page
               and (n.created_at, n.id) {side} (%(at)s, %(about)s collate "C")
               and n.created_at <= %(until)s
               and notices_may_see(n.user_id, e)
             order by n.created_at {order}, n.id {order}
             limit %(limit)s))
    """


def _results_query(*, is_forward: bool) -> str:
    side, order = (">", "asc") if is_forward else ("<", "desc")
    newest = f"order by no desc limit {MOST_RESULTS_BEHIND}" if is_forward else ""
    return f"""
        select case r.act when 'accept' then 'rated' else 'corrected' end as kind,
               r.created_at as at, r.about, e.id as entry_id, a.id as agent_id,
               a.name as agent_name, r.match_id, l.id as league_id, l.title as league, s.seats,
               t.placement, t.verdict,
               case when s.measures is null then r.mu_before end as mu_before,
               case when s.measures is null then r.mu end as mu_after
          from agents a
          join entries e on e.agent_id = a.id
          join seasons s on s.id = e.season_id
          join leagues l on l.id = s.league_id
         cross join lateral (
               select q.*, c.act
                 from (select *, (entry_id || '.' || match_id) collate "C" as about
                         from ratings
                        where entry_id = e.id
                        {newest}) q
                 join acceptances c on c.season_id = q.season_id and c.no = q.no
                where (q.created_at, q.about) {side} (%(at)s, %(about)s collate "C")
                  and q.created_at <= %(until)s
                order by q.no {order}
                limit %(limit)s) r
          left join lateral (
               select placement, verdict
                 from seats
                where match_id = r.match_id and entry_id = e.id and r.act = 'accept'
                order by placement
                limit 1) t on true
         where a.team_id = any (%(teams)s)
           and l.id = any (%(leagues)s)
         order by r.created_at {order}, r.about {order}
         limit %(limit)s
    """


def _visible_leagues(conn: Connection, viewer: Viewer) -> list[LeagueId]:
    """Returns leagues visible to the viewer in which their teams have played."""
    seen, values = visibility.visible_leagues(viewer)
    rows = conn.execute(
        f"""
        select distinct l.id from agents a join entries e on e.agent_id = a.id
        join seasons s on s.id = e.season_id join leagues l on l.id = s.league_id
        where a.team_id = any (%s) and {seen}
        """,
        (sorted(viewer.team_ids), *values),
    )
    return [LeagueId(row[0]) for row in rows]


def _item_of_notice(notice: Notice) -> FeedItem:
    return FeedItem(
        _make_key(notice.created_at, notice.id),
        notice.kind,
        notice.created_at,
        notice.title,
        notice.text,
        notice.path,
        notice.league,
        notice.subject,
        None,
    )


def _item_of_result(row: dict[str, Any]) -> FeedItem:
    kind, agent = ResultKind(row["kind"]), row["agent_name"]
    if kind is ResultKind.CORRECTED:
        title = f"A result of {agent} was taken back"
    elif row["seats"] == 1:
        title = f"{agent} played a match"
    else:
        title = f"{agent} placed {row['placement']} of {row['seats']}"
    parts = [f"Its verdict is {row['verdict']}."] if row["verdict"] not in (None, "DONE") else []
    if row["mu_after"] is not None:
        parts.append(f"Its live rating changed by {row['mu_after'] - row['mu_before']:+.0f}.")
    subject = {name: row[name] for name in ("league_id", "agent_id", "entry_id", "match_id")}
    result = RatedResult(
        row["placement"], row["seats"], row["verdict"], row["mu_before"], row["mu_after"]
    )
    return FeedItem(
        _make_key(row["at"], row["about"]),
        kind,
        row["at"],
        title,
        " ".join(parts),
        f"/matches/{row['match_id']}",
        row["league"],
        subject,
        result,
    )


def _sort_key(item: FeedItem) -> tuple[datetime, str]:
    return _split_key(item.key)


def _make_key(at: datetime, about: str) -> str:
    return f"{(at - EPOCH) // timedelta(microseconds=1)}.{about}"


def _split_key(key: str) -> tuple[datetime, str]:
    parts = KEY.fullmatch(key)
    if parts is None:
        raise LadderError("use the key of a feed item")
    return EPOCH + timedelta(microseconds=int(parts[1])), parts[2]
