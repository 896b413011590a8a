"""A person's own notices (the list, unread ones, marking as read), and Atom feeds.

Feeds of an agent or a league are public. A private feed shows its person's notices at a secret
address. Whoever knows its address can read it, so the person can revoke it. It shows only what the
person may see at that moment.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Annotated, Final

from pydantic import ConfigDict, Field

from ladder import ids
from ladder.database.db import Connection, atomic_function, exists, fetch, fetch_one
from ladder.errors import Conflict, NotFound
from ladder.field_types import RECORD, Key, RequestModel, ShownOnce, WordsOfPerson
from ladder.ids import AgentId, LeagueId, NoticeFeedId, NoticeId, UserId
from ladder.notices.kinds import Notice
from ladder.people import visibility
from ladder.people.records import Viewer

MOST_COUNTED: Final = 99
"""Highest number of unread notices that is counted; the header shows ``99`` for more."""
MOST_SCANNED: Final = 300
"""Newest unread notices that are looked at to count them: every page asks."""


@dataclass(frozen=True, slots=True)
class ReadNotices:
    __pydantic_config__ = RECORD
    marked: int
    """Notices that were unread until now."""
    unread: int
    """Notices still unread, at most 99."""


def list_notices(
    conn: Connection,
    user_id: UserId,
    after: NoticeId | None = None,
    limit: int = 50,
    *,
    unread_only: bool = False,
) -> list[Notice]:
    """Returns a person's notices on the page, newest first, older than ``after``.

    Leaves out those about things that the person may no longer see.
    """
    rows = conn.execute(
        """select notices_view(
          array(select n.id from notices n join notice_events e on e.id = n.event_id
            where n.user_id = %(user_id)s and n.is_on_page
              and (%(after)s::text is null or n.id < %(after)s)
              and (n.read_at is null or not %(unread_only)s) and notices_may_see(n.user_id, e)
            order by n.id desc limit %(limit)s))""",
        {"user_id": user_id, "after": after, "unread_only": unread_only, "limit": limit},
    )
    return [Notice.of_row(row[0]) for row in rows]


def count_unread(conn: Connection, user_id: UserId) -> int:
    """Returns the number of unread notices on the page, at most MOST_COUNTED."""
    return fetch_one(
        conn,
        int,
        """select count(*)
        from (select 1
          from (select * from notices
            where user_id = %(user_id)s and is_on_page and read_at is null order by id desc
            limit %(most_scanned)s) n
          join notice_events e on e.id = n.event_id
          where notices_may_see(n.user_id, e) limit %(most_counted)s) as unread""",
        {"user_id": user_id, "most_scanned": MOST_SCANNED, "most_counted": MOST_COUNTED},
    )


def mark_read(conn: Connection, user_id: UserId, until: NoticeId) -> int:
    """Marks this notice and all older ones as read; returns how many were unread.

    Newer ones stay unread, because the person has not seen them. Raises NotFound.
    """
    if not exists(conn, "select 1 from notices where id = %s and user_id = %s", (until, user_id)):
        raise NotFound.of("notice")
    return conn.execute(
        "update notices set read_at = now() where user_id = %s and id <= %s and read_at is null",
        (user_id, until),
    ).rowcount


MOST_FEEDS: Final = 20
"""Private feeds of one person."""
SHOWN: Final = 50
"""Newest entries in a feed."""
RANDOM_BYTES: Final = 24
OF_AGENT: Final = "e.agent_id = %s"
OF_LEAGUE: Final = "e.league_id = %s"
FEED: Final = """
    select f.id, f.agent_id, a.name as agent_name, f.league_id, l.title as league_title,
           f.created_at
      from notice_feeds f
      left join agents a on a.id = f.agent_id
      left join leagues l on l.id = f.league_id
"""


@dataclass(frozen=True, slots=True)
class PrivateFeed:
    """A private feed, without its secret address, which is not stored."""

    __pydantic_config__ = RECORD
    id: Annotated[NoticeFeedId, Field(examples=["nfe_01j8x6m3c2k4v9q0w7r5t1y8z3"])]
    agent_id: AgentId | None
    """Only notices about this agent."""
    agent_name: WordsOfPerson | None
    league_id: LeagueId | None
    """Only notices about this league."""
    league_title: WordsOfPerson | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class MadeFeed(PrivateFeed):
    """A new feed with its address."""

    __pydantic_config__ = RECORD
    address: Annotated[ShownOnce, Field(examples=["https://ladder.example.org/feeds/8Zk3....atom"])]
    """Secret address of the feed. It is shown only once: null if the request is repeated."""


class NewFeed(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{}]})
    agent: Key | None = None
    """Agent id: only notices about it."""
    league: Key | None = None
    """Id or slug: only notices about it."""


def public_events(
    conn: Connection,
    viewer: Viewer,
    *,
    agent_id: AgentId | None = None,
    league_id: LeagueId | None = None,
) -> list[Notice]:
    """Returns public events of an agent or a league, newest first.

    The caller has checked that the viewer may see the agent or league. Leaves out events of other
    leagues that the viewer may not see.
    """
    is_visible, values = visibility.visible_leagues(viewer)
    query = f"""select notices_event_view(e) || jsonb_build_object(
          'id', e.id, 'kind', e.kind, 'created_at', e.created_at,
          'reason', null, 'person_name', null)
        from notice_events e join notice_kinds k on k.kind = e.kind and k.is_public
        join leagues l on l.id = e.league_id and {is_visible}
        where {OF_AGENT if agent_id else OF_LEAGUE} order by e.id desc limit %s"""
    return fetch(conn, Notice.of_row, query, (*values, agent_id or league_id, SHOWN))


@atomic_function
def create_feed(
    conn: Connection,
    user_id: UserId,
    base_url: str,
    *,
    agent_id: AgentId | None = None,
    league_id: LeagueId | None = None,
) -> MadeFeed:
    """Makes a private feed of all notices, or of those about an agent or a league.

    Raises Conflict if the person has MOST_FEEDS.
    """
    conn.execute("select 1 from users where id = %s for no key update", (user_id,))
    if len(list_feeds(conn, user_id)) >= MOST_FEEDS:
        raise Conflict(f"revoke a feed first: you have {MOST_FEEDS}, which is the limit")
    secret = secrets.token_urlsafe(RANDOM_BYTES)
    feed_id = NoticeFeedId(ids.new_id("nfe"))
    query = """insert into notice_feeds (id, user_id, hash, agent_id, league_id)
        values (%s, %s, %s, %s, %s)"""
    conn.execute(query, (feed_id, user_id, _hash_secret(secret), agent_id, league_id))
    feed = fetch_one(conn, PrivateFeed, f"{FEED} where f.id = %s", (feed_id,))
    return MadeFeed(**asdict(feed), address=f"{base_url.rstrip('/')}/feeds/{secret}.atom")


def list_feeds(conn: Connection, user_id: UserId) -> list[PrivateFeed]:
    """Returns a person's private feeds, oldest first."""
    return fetch(conn, PrivateFeed, f"{FEED} where f.user_id = %s order by f.id", (user_id,))


def revoke_feed(conn: Connection, user_id: UserId, feed_id: NoticeFeedId) -> None:
    """Ends a private feed at once and for good. Raises NotFound."""
    gone = conn.execute(
        "delete from notice_feeds where id = %s and user_id = %s", (feed_id, user_id)
    )
    if gone.rowcount == 0:
        raise NotFound.of("feed")


def read_private_feed(conn: Connection, secret: str) -> tuple[PrivateFeed, list[Notice]]:
    """Returns the feed with this secret and its newest notices. Raises NotFound."""
    query = f"""{FEED} join users u on u.id = f.user_id and u.erased_at is null
        where f.hash = %s and not exists (select 1 from user_blocks b where b.user_id = u.id)"""
    feed = fetch_one(conn, PrivateFeed, query, (_hash_secret(secret),), NotFound.of("feed"))
    query = """
        select notices_view(array(
            select n.id
              from notice_feeds f
              join notices n on n.user_id = f.user_id and n.is_on_page
              join notice_events e on e.id = n.event_id
             where f.id = %(feed)s
               and (f.agent_id is null or e.agent_id = f.agent_id)
               and (f.league_id is null or e.league_id = f.league_id)
               and notices_may_see(n.user_id, e)
             order by n.id desc
             limit %(limit)s))
        """
    rows = conn.execute(query, {"feed": feed.id, "limit": SHOWN})
    return feed, [Notice.of_row(row[0]) for row in rows]


def _hash_secret(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()
