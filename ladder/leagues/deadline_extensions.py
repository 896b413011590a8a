"""Gives one team a later upload deadline in a season."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from psycopg.rows import class_row

from ladder.database.db import Connection, atomic_function
from ladder.errors import Conflict, Invalid, NotFound
from ladder.ids import SeasonId, TeamId, UserId
from ladder.leagues import sealed_medals, seasons
from ladder.moments import moment_text
from ladder.people import audit_log


@dataclass(frozen=True, slots=True)
class Extension:
    team_id: TeamId
    team_name: str
    closes_at: datetime


@atomic_function
def extend_deadline(
    conn: Connection,
    season_id: SeasonId,
    team: str,
    closes_at: datetime,
    *,
    by: UserId | None,
    reason: str,
) -> Extension:
    """Sets when this team's uploads close, even in a locked season; writes an audit entry.

    A later call replaces the extension. ``team`` is an id or slug. Raises NotFound for a team
    without members or entries in the league. Raises LadderError for a moment outside the season's
    deadlines. Raises Conflict if the season is finished or has sealed medals.

    While an extension is in force, no medal is sealed.
    """
    # Standings lock this row, so no medal is sealed until this transaction ends.
    conn.execute("select 1 from seasons where id = %s for no key update", (season_id,))
    season = seasons.get_season(conn, season_id)
    if season.state == "finished":
        raise Conflict("the season is finished; its standings can no longer change")
    if sealed_medals.sealed_medals_of_season(conn, season_id):
        raise Conflict("medals are sealed; uploads stay locked until the end of the season")
    if season.closes_at is not None and closes_at <= season.closes_at:
        raise Invalid(
            "closes_at",
            f"give a later moment: uploads of all teams close at {moment_text(season.closes_at)}",
        )
    if season.ends_at is not None and closes_at > season.ends_at:
        raise Invalid(
            "closes_at", f"give an earlier moment: the season ends at {moment_text(season.ends_at)}"
        )
    row = conn.execute(
        "select t.id from teams t where %s in (t.id, t.slug) and (exists (select 1 from entries e"
        "   join seasons s on s.id = e.season_id"
        "   where e.team_id = t.id and s.league_id = %s) or exists (select 1 from memberships p"
        "   join league_members m on m.user_id = p.user_id"
        "   where p.team_id = t.id and m.league_id = %s)) order by t.id = %s desc limit 1",
        (team, season.league_id, season.league_id, team),
    ).fetchone()
    if row is None:
        raise NotFound("there is no such team in this league")
    team_id = TeamId(row[0])
    before = extension_of_team(conn, season_id, team_id)
    conn.execute(
        "insert into extensions (season_id, team_id, closes_at) values (%s, %s, %s)"
        " on conflict (season_id, team_id) do update set closes_at = excluded.closes_at",
        (season_id, team_id, closes_at),
    )
    conn.execute("update seasons set official_is_stale = true where id = %s", (season_id,))
    audit_log.record_audit(
        conn,
        season.league_id,
        season_id=season_id,
        by=by,
        act="extend",
        subject=team_id,
        reason=reason,
        details={
            "closes_at": closes_at.isoformat(),
            "before": before.closes_at.isoformat() if before else None,
        },
    )
    made = extension_of_team(conn, season_id, team_id)
    assert made is not None
    return made


def extension_of_team(conn: Connection, season_id: SeasonId, team_id: TeamId) -> Extension | None:
    """Returns the team's extension, or None."""
    found = [each for each in list_extensions(conn, season_id) if each.team_id == team_id]
    return found[0] if found else None


def list_extensions(conn: Connection, season_id: SeasonId) -> list[Extension]:
    """Returns the extensions of a season, by team."""
    with conn.cursor(row_factory=class_row(Extension)) as cur:
        return cur.execute(
            "select x.team_id, t.name as team_name, x.closes_at from extensions x"
            " join teams t on t.id = x.team_id where x.season_id = %s order by x.team_id",
            (season_id,),
        ).fetchall()
