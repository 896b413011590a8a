"""Tells what the deletion of an account does to its teams and leagues."""

from __future__ import annotations

from dataclasses import dataclass

from ladder.database.db import Connection
from ladder.enums import LeagueRole
from ladder.field_types import RECORD
from ladder.ids import UserId


@dataclass(frozen=True, slots=True)
class AccountFate:
    """What the deletion of an account would end."""

    __pydantic_config__ = RECORD
    ended_teams: tuple[str, ...]
    """Names of teams without other members; their agents and bundles go."""
    left_teams: tuple[str, ...]
    """Names of teams that other members keep."""
    ended_leagues: tuple[str, ...]
    """Titles of leagues that close, because nobody else takes part."""
    orphan_leagues: tuple[str, ...]
    """Titles of leagues that go on without a host or co-host."""


def preview_erasure(conn: Connection, user_id: UserId) -> AccountFate:
    """Returns what the deletion of an account would do. Writes nothing."""
    ended, left = teams_by_fate(conn, user_id)
    closing, orphans = leagues_by_fate(conn, user_id, list(ended))
    return AccountFate(
        tuple(ended.values()),
        tuple(left.values()),
        tuple(closing.values()),
        tuple(orphans.values()),
    )


def teams_by_fate(conn: Connection, user_id: UserId) -> tuple[dict[str, str], dict[str, str]]:
    """The person's teams without other members, and with others; names by id."""
    query = """select t.id, t.name,
          exists (select 1 from memberships o where o.team_id = t.id and o.user_id <> %(user_id)s)
        from teams t join memberships m on m.team_id = t.id
        where m.user_id = %(user_id)s order by t.id"""
    rows = conn.execute(query, {"user_id": user_id}).fetchall()
    return (
        {team: name for team, name, has_others in rows if not has_others},
        {team: name for team, name, has_others in rows if has_others},
    )


def leagues_by_fate(
    conn: Connection, user_id: UserId, ended_teams: list[str]
) -> tuple[dict[str, str], dict[str, str]]:
    """Leagues without another host or co-host: those that nobody else takes part in, and others."""
    rows = conn.execute(
        """select l.id, l.title, exists (
            select 1 from league_members o where o.league_id = l.id and o.user_id <> %(user)s)
          or exists (select 1 from entries e join seasons s on s.id = e.season_id
            where s.league_id = l.id and not e.is_anchor and e.team_id <> all (%(teams)s))
        from leagues l join league_members m on m.league_id = l.id
        where m.user_id = %(user)s and m.role = %(host)s
          and not exists (select 1 from league_members o
            where o.league_id = l.id and o.user_id <> %(user)s
              and (o.role = %(host)s or o.duty = %(co_host)s)) order by l.id""",
        {
            "user": user_id,
            "teams": ended_teams,
            "host": LeagueRole.HOST,
            "co_host": LeagueRole.CO_HOST,
        },
    ).fetchall()
    return (
        {league: title for league, title, has_others in rows if not has_others},
        {league: title for league, title, has_others in rows if has_others},
    )
