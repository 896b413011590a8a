"""Gives one team a later upload deadline in a season."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from pydantic import ConfigDict

from ladder.database.db import Connection, atomic_function, fetch, fetch_one
from ladder.errors import Conflict, Invalid, NotFound
from ladder.field_types import RECORD, AwareDatetime, FilledLine, RequestModel
from ladder.ids import SeasonId, TeamId
from ladder.leagues import sealed_medals, seasons
from ladder.moments import moment_text
from ladder.people import audit_log
from ladder.people.records import Viewer


@dataclass(frozen=True, slots=True)
class Extension:
    __pydantic_config__ = RECORD
    team_id: TeamId
    team_name: str
    closes_at: datetime


class NewExtension(RequestModel):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"closes_at": "2026-12-03T18:00:00+01:00", "reason": "ill, with a note"}]
        },
    )
    closes_at: AwareDatetime
    reason: FilledLine
    """Kept in the audit log."""


@atomic_function
def extend_deadline(
    conn: Connection, by: Viewer, season_id: SeasonId, team: str, new: NewExtension
) -> Extension:
    """Sets when this team's uploads close, even in a locked season; writes an audit entry.

    A later call replaces the extension. ``team`` is an id or slug. Raises NotFound for a team
    without members or entries in the league. Raises LadderError for a moment outside the season's
    deadlines. Raises Conflict if the season is finished or has sealed medals.

    While an extension is in force, no medal is sealed.
    """
    season = seasons.lock_season(conn, season_id)
    if season.state == "finished":
        raise Conflict("the season is finished; its standings can no longer change")
    if sealed_medals.sealed_medals_of_season(conn, season_id):
        raise Conflict("medals are sealed; uploads stay locked until the end of the season")
    if season.closes_at is not None and new.closes_at <= season.closes_at:
        raise Invalid(
            "closes_at",
            f"give a later moment: uploads of all teams close at {moment_text(season.closes_at)}",
        )
    if season.ends_at is not None and new.closes_at > season.ends_at:
        raise Invalid(
            "closes_at", f"give an earlier moment: the season ends at {moment_text(season.ends_at)}"
        )
    team_id = fetch_one(
        conn,
        TeamId,
        """
        select t.id
        from teams t
        where %(team)s in (t.id, t.slug)
          and (exists (
                   select 1
                   from entries e
                   join seasons s on s.id = e.season_id
                   where e.team_id = t.id and s.league_id = %(league)s
               )
               or exists (
                   select 1
                   from memberships p
                   join league_members m on m.user_id = p.user_id
                   where p.team_id = t.id and m.league_id = %(league)s
               ))
        order by t.id = %(team)s desc
        limit 1
        """,
        {"team": team, "league": season.league_id},
        missing=NotFound("there is no such team in this league"),
    )
    before = {extension.team_id: extension for extension in list_extensions(conn, season_id)}
    conn.execute(
        """
        insert into extensions (season_id, team_id, closes_at)
        values (%(season)s, %(team)s, %(closes_at)s)
        on conflict (season_id, team_id) do update set closes_at = excluded.closes_at
        """,
        {"season": season_id, "team": team_id, "closes_at": new.closes_at},
    )
    conn.execute("update seasons set official_is_stale = true where id = %s", (season_id,))
    audit_log.record_audit(
        conn,
        season.league_id,
        season_id=season_id,
        by=by.user_id,
        act="extend",
        subject=team_id,
        reason=new.reason,
        details={
            "closes_at": new.closes_at.isoformat(),
            "before": before[team_id].closes_at.isoformat() if team_id in before else None,
        },
    )
    return next(row for row in list_extensions(conn, season_id) if row.team_id == team_id)


def list_extensions(conn: Connection, season_id: SeasonId) -> list[Extension]:
    """Returns the extensions of a season, by team."""
    return fetch(
        conn,
        Extension,
        """
        select x.team_id, t.name as team_name, x.closes_at
        from extensions x
        join teams t on t.id = x.team_id
        where x.season_id = %(season)s
        order by x.team_id
        """,
        {"season": season_id},
    )
