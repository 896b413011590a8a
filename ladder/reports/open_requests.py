"""Requests of other people that wait for a person's answer, of all kinds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Final

from psycopg.rows import dict_row
from pydantic import Field

from ladder.database.db import Connection
from ladder.entries import team_merges
from ladder.field_types import RECORD
from ladder.people import team_invitations
from ladder.people.records import RoleScope, Viewer, has_scope
from ladder.scrims import requests

ROWS: Final = f"""
    select 'scrim' as kind, r.id, t.name as asker, o.name as asked, l.title as league,
      r.games as count, r.created_at, r.expires_at, r.id as page
    from scrim_requests r join teams t on t.id = r.team_id join teams o on o.id = r.asked_team_id
    join seasons s on s.id = r.season_id join leagues l on l.id = s.league_id
    where r.asked_team_id = any (%(teams)s) and {requests.WAITS}
    union all select 'team_invitation', i.id, b.name, t.name, null, 1, i.created_at,
      i.expires_at, null
    from team_invitations i join teams t on t.id = i.team_id left join users b
      on b.id = i.created_by
    where i.user_id = %(user)s and t.ended_at is null and {team_invitations.OPEN}
    union all select 'team_merge', m.id, t.name, o.name, null, 1, m.created_at, m.expires_at,
      o.id
    from memberships w join team_merges m on m.into_team_id = w.team_id
    join teams t on t.id = m.team_id join teams o on o.id = m.into_team_id
    where w.user_id = %(user)s and w.is_owner and {team_merges.IS_OPEN}
    union all select 'join_league', max(j.id), min(u.name), l.title, l.title, count(*),
      max(j.created_at), min(j.expires_at), l.slug
    from join_requests j join leagues l on l.id = j.league_id join users u on u.id = j.user_id
    where l.id = any (%(leagues)s) and j.state = 'waiting' and j.expires_at > now() group by l.id
    """
"""Requests to join one league are one row, because its host answers them together."""


class RequestKind(StrEnum):
    """What somebody asks for."""

    SCRIM = "scrim"
    """A team asks a team of this person for a scrim."""
    TEAM_INVITATION = "team_invitation"
    """A team invites this person by name."""
    TEAM_MERGE = "team_merge"
    """A team asks to become part of a team that this person owns."""
    JOIN_LEAGUE = "join_league"
    """People ask to join a league that this person hosts."""


@dataclass(frozen=True, slots=True)
class OpenRequest:
    """A request that waits for your answer. All requests to join one league are one item."""

    __pydantic_config__ = RECORD
    kind: RequestKind
    id: str
    """Of several requests, the id of the newest one."""
    title: Annotated[str, Field(examples=["Night Geese asks Flood for a scrim"])]
    text: str
    path: Annotated[str, Field(examples=["/scrim-requests/srq_01j8x6m3c2k4v9q0w7r5t1y8z3"])]
    """Page of this site on which you answer."""
    created_at: datetime
    """Of several requests, that of the newest one."""
    expires_at: datetime
    """Of several, when the oldest one ends."""


def list_open_requests(
    conn: Connection, who: Viewer, after: str | None = None, limit: int = 50
) -> list[OpenRequest]:
    """Returns the requests that this person may answer, newest first, older than ``after``."""
    given = {
        "user": who.user_id,
        "teams": sorted(who.team_ids),
        "leagues": [key for key, role in who.roles.items() if has_scope(role, RoleScope.MANAGE)],
        "after": after,
        "limit": limit,
    }
    with conn.cursor(row_factory=dict_row) as cur:
        # Without its prefix an id of any kind sorts by time.
        rows = cur.execute(
            f"""
            select * from ({ROWS}) q where %(after)s::text is null
              or substr(q.id, 5) < substr(%(after)s, 5)
            order by substr(q.id, 5) desc limit %(limit)s
            """,
            given,
        ).fetchall()
    return [_request_of_row(row) for row in rows]


def _request_of_row(row: Mapping[str, Any]) -> OpenRequest:
    kind = RequestKind(row["kind"])
    title, text, path = WORDS[kind](row)
    return OpenRequest(kind, row["id"], title, text, path, row["created_at"], row["expires_at"])


def _scrim(row: Mapping[str, Any]) -> tuple[str, str, str]:
    games = f"{row['count']} game{'s' * (row['count'] != 1)}, {row['league']}."
    return f"{row['asker']} asks {row['asked']} for a scrim", games, f"/scrim-requests/{row['id']}"


def _invitation(row: Mapping[str, Any]) -> tuple[str, str, str]:
    title = f"{row['asker'] or 'Somebody'} invites you to the team {row['asked']}"
    return title, "You accept or decline on your page.", "/me#teams"


def _merge(row: Mapping[str, Any]) -> tuple[str, str, str]:
    title = f"{row['asker']} asks to become part of {row['asked']}"
    text = "Its members, agents and entries would move to your team."
    return title, text, f"/teams/{row['page']}#manage"


def _joining(row: Mapping[str, Any]) -> tuple[str, str, str]:
    several = row["count"] > 1
    who = f"{row['count']} people ask" if several else f"{row['asker']} asks"
    text = "You approve or decline on the page of the league's people."
    return f"{who} to join {row['league']}", text, f"/leagues/{row['page']}/people#requests"


WORDS: Final[Mapping[RequestKind, Callable[[Mapping[str, Any]], tuple[str, str, str]]]] = {
    RequestKind.SCRIM: _scrim,
    RequestKind.TEAM_INVITATION: _invitation,
    RequestKind.TEAM_MERGE: _merge,
    RequestKind.JOIN_LEAGUE: _joining,
}
"""Title, text and page of each kind."""
