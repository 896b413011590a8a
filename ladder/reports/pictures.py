"""Rows of pictures: which are wanted, which are drawn, and which nobody asks for any more.

A subject names a picture, such as ``matches/mat_…/card``. A worker takes a wanted row for
``LEASE_SECONDS``; after ``MOST_TRIES`` it gives up, and the row waits for ``AGAIN_SECONDS``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from ladder.database.db import Connection
from ladder.ids import AgentId, LeagueId, MatchId, is_id

MOST_WAITING: Final = 300
"""Most wanted pictures. Further ones are not written down; whoever asks again may be luckier."""
WAITS_SECONDS: Final = 600
"""Seconds after which a wish is forgotten, if no worker draws."""
LEASE_SECONDS: Final = 60
MOST_TRIES: Final = 3
AGAIN_SECONDS: Final = 3600
FRESH_SECONDS: Final = {"matches": 3600, "agents": 600, "leagues": 600, "compare": 600}
"""Seconds after which a picture is compared with the present names and ranks."""
PREFIXES: Final = {"matches": "mat", "agents": "age", "leagues": "lea", "compare": "age"}
PAIR_MARK: Final = "+"
"""Between the ids of the two agents of a comparison."""


class Form(StrEnum):
    """A picture's form; the value ends its subject."""

    CARD = "card"
    WEBP = "webp"
    GIF = "gif"


MEDIA_TYPES: Final = {Form.CARD: "image/png", Form.WEBP: "image/webp", Form.GIF: "image/gif"}


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawn picture."""

    digest: str
    inputs: str


def match_subject(match: MatchId, form: Form = Form.CARD) -> str:
    return f"matches/{match}/{form}"


def agent_subject(agent: AgentId) -> str:
    return f"agents/{agent}/{Form.CARD}"


def league_subject(league: LeagueId) -> str:
    return f"leagues/{league}/{Form.CARD}"


def comparison_subject(agent: AgentId, opponent: AgentId) -> str:
    return f"compare/{agent}{PAIR_MARK}{opponent}/{Form.CARD}"


def parse_subject(subject: str) -> tuple[str, str, Form]:
    """Kind, id and form of a subject; both ids for a comparison. Raises ValueError."""
    kind, key, form = subject.split("/")
    count = 2 if kind == "compare" else 1
    keys = key.split(PAIR_MARK)
    if len(keys) != count or not all(is_id(one, PREFIXES.get(kind, "")) for one in keys):
        raise ValueError(f"{subject!r:.100} is no subject of a picture")
    return kind, key, Form(form)


def ask_for_picture(conn: Connection, subject: str) -> str | None:
    """Digest of the drawn picture, or None. Notes what must be drawn, for the first time or anew.

    So an old picture is shown until the new one is there.
    """
    kind = subject.partition("/")[0]
    row = conn.execute(
        """
        select digest, asked_at < now() - interval '1 hour',
        coalesce(wanted_at, '-infinity') < now() - make_interval(secs => %s) and
        coalesce(made_at, '-infinity') < now() - make_interval(secs => %s) and
        (tries = 0 or tried_at < now() - make_interval(secs => %s))
        from pictures where subject = %s
        """,
        (WAITS_SECONDS, FRESH_SECONDS[kind], AGAIN_SECONDS, subject),
    ).fetchone()
    if row is None:
        conn.execute(
            """
            insert into pictures (subject, wanted_at) select %s, now() where
            (select count(*) from pictures where wanted_at > now() - make_interval(secs => %s))
            < %s on conflict do nothing
            """,
            (subject, WAITS_SECONDS, MOST_WAITING),
        )
        conn.execute("select pg_notify('peck_work', '')")
        return None
    digest: str | None = row[0]
    if row[1] or row[2]:
        conn.execute(
            """
            update pictures set asked_at = now(), wanted_at = case when %s then now() else
            wanted_at end, tries = case when %s then 0 else tries end where subject = %s
            """,
            (row[2], row[2], subject),
        )
    if row[2]:
        conn.execute("select pg_notify('peck_work', '')")
    return digest


def draw_anew(conn: Connection, subject: str) -> None:
    """Wants a picture whose blob is missing."""
    conn.execute(
        """
        update pictures set digest = null, inputs = null, made_at = null,
        wanted_at = coalesce(wanted_at, now()) where subject = %s
        """,
        (subject,),
    )


def are_wanted(conn: Connection) -> bool:
    """Whether a picture waits that no worker has taken."""
    row = conn.execute(
        """
        select exists (select 1 from pictures
        where wanted_at > now() - make_interval(secs => %s) and
        (tries = 0 or tried_at < now() - make_interval(secs => %s)))
        """,
        (WAITS_SECONDS, LEASE_SECONDS),
    ).fetchone()
    return bool(row and row[0])


def take_wanted(conn: Connection) -> tuple[str, Picture | None] | None:
    """Takes the picture that waits longest, with what was drawn before. None if none waits."""
    row = conn.execute(
        """
        update pictures set tried_at = now(), tries = tries + 1 where subject = (select subject
        from pictures where wanted_at > now() - make_interval(secs => %s) and (tries = 0 or
        tried_at < now() - make_interval(secs => %s))
        order by wanted_at limit 1 for update skip locked)
        returning subject, digest, inputs
        """,
        (WAITS_SECONDS, LEASE_SECONDS),
    ).fetchone()
    if row is None:
        return None
    return row[0], Picture(row[1], row[2]) if row[1] and row[2] else None


def store_picture(conn: Connection, subject: str, inputs: str, digest: str, size: int) -> None:
    """Notes the drawn picture."""
    conn.execute(
        """
        update pictures set inputs = %s, digest = %s, bytes = %s, made_at = now(),
        wanted_at = null, tries = 0 where subject = %s
        """,
        (inputs, digest, size, subject),
    )


def give_up(conn: Connection, subject: str, *, at_once: bool = False) -> None:
    """Notes a failed try. After the last try, or ``at_once``, nothing waits any more."""
    conn.execute(
        """
        update pictures set wanted_at = case when %s or tries >= %s then null else wanted_at end
        where subject = %s
        """,
        (at_once, MOST_TRIES, subject),
    )


def delete_picture(conn: Connection, subject: str) -> None:
    """Deletes the row of a subject that no stranger may see any more."""
    conn.execute("delete from pictures where subject = %s", (subject,))


def delete_unasked(conn: Connection, most_bytes: int) -> list[str]:
    """Deletes the pictures beyond ``most_bytes`` that were asked for longest ago.

    Returns their digests, whose blobs the caller deletes.
    """
    rows = conn.execute(
        """
        delete from pictures where subject in (select subject from (select subject,
        sum(bytes) over (order by asked_at desc, subject) as total from pictures) p
        where total > %s) returning digest
        """,
        (most_bytes,),
    ).fetchall()
    return [row[0] for row in rows if row[0]]
