"""A person's own notices: the list, the number of unread ones, and marking them as read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ladder.database.db import Connection, exists, fetch_one
from ladder.errors import NotFound
from ladder.field_types import RECORD
from ladder.ids import NoticeId, UserId
from ladder.notices.kinds import Notice

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
