"""Keeps the rule that a person competes once in a season, in the table ``season_competitors``.

A row says for which team a person competes in a season. It is written at every entry of the team,
for all its members, and when a person joins a team that competes. Leaving the team keeps the row.

Callers lock the team's row first (`lock_team`). So an entry and a join of one team take turns. The
key of the table decides between two teams. Rows are written in the order of the key, so two
transactions cannot wait for each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ladder.database.db import Connection, fetch_optional
from ladder.errors import Conflict, NotFound
from ladder.ids import SeasonId, TeamId, UserId
from ladder.people import users, visibility
from ladder.people.records import SEASON_STAFF, STRANGER

COMPETES: Final = (
    "exists (select 1 from entries e where e.season_id = s.id and e.team_id = %(team)s"
    " and not e.is_anchor)"
)
"""Whether a team competes in a season ``s``: anchors do not compete."""


def lock_team(conn: Connection, *team_ids: TeamId) -> None:
    """Locks living teams for the caller's transaction. Raises NotFound, Conflict for ended ones."""
    query = """select ended_at is not null, merged_into is not null from teams
        where id = any (%(team_ids)s) order by id for no key update"""
    rows = conn.execute(query, {"team_ids": sorted(set(team_ids))}).fetchall()
    if len(rows) < len(set(team_ids)):
        raise NotFound.of("team")
    for is_ended, is_merged in rows:
        if is_ended:
            raise Conflict(
                f"use another team: this one was {'merged' if is_merged else 'dissolved'}"
            )


def add_members_at_entry(
    conn: Connection, season_id: SeasonId, team_id: TeamId, reader: UserId | None
) -> None:
    """Records that all members of a team compete in a season. The caller has locked the team.

    Raises Conflict if one of them competes for another team. The message names that team only if
    ``reader`` may see it.
    """
    query = """insert into season_competitors (season_id, user_id, team_id)
        select %(season_id)s, m.user_id, m.team_id from memberships m
        where m.team_id = %(team_id)s order by m.user_id on conflict do nothing"""
    conn.execute(query, {"season_id": season_id, "team_id": team_id})
    _refuse_competing_twice(conn, team_id, reader, season_id)


def add_competitors_of_team(conn: Connection, team_id: TeamId, reader: UserId | None) -> None:
    """Records all members in every unfinished season in which the team competes.

    Call it after people joined the team, which the caller has locked. Raises the Conflict of
    `add_members_at_entry`.
    """
    query = f"""insert into season_competitors (season_id, user_id, team_id)
        select s.id, m.user_id, m.team_id from memberships m, seasons s
        where m.team_id = %(team)s and s.state <> 'finished' and {COMPETES}
        order by s.id, m.user_id on conflict do nothing"""
    conn.execute(query, {"team": team_id})
    _refuse_competing_twice(conn, team_id, reader)
    _refuse_staff(conn, team_id)


def refuse_blocked_people(conn: Connection, team_id: TeamId, user_ids: Sequence[UserId]) -> None:
    """Raises Conflict if a host blocked one of these people from a league of the team.

    Call it after `add_competitors_of_team`, which locks these leagues: nobody is blocked meanwhile.
    """
    query = f"""select u.name from league_blocks b join users u on u.id = b.user_id
        join seasons s on s.league_id = b.league_id and s.state <> 'finished'
        where b.user_id = any (%(people)s) and {COMPETES} order by u.id limit 1"""
    name = fetch_optional(conn, str, query, {"team": team_id, "people": list(user_ids)})
    if name is not None:
        raise Conflict(f"a host blocked {name} from a league in which this team competes")


def _refuse_staff(conn: Connection, team_id: TeamId) -> None:
    """Raises Conflict if a member is or was grader or commentator where the team competes.

    It locks these leagues, so that no member becomes one meanwhile.
    """
    values = {"team": team_id}
    query = f"""select 1 from leagues l where exists (
          select 1 from seasons s
          where s.league_id = l.id and s.state <> 'finished' and {COMPETES})
        order by l.id for share of l"""
    conn.execute(query, values)
    query = f"""select u.name, d.task from memberships m join users u on u.id = m.user_id
        join {SEASON_STAFF} d on d.user_id = m.user_id join seasons s on s.id = d.season_id
        where m.team_id = %(team)s and {COMPETES} order by u.id limit 1"""
    row = conn.execute(query, values).fetchone()
    if row is not None:
        raise Conflict(
            f"{row[0]} {row[1]} of a league in which this team competes; who has or had this role"
            " in a season competes for no team there"
        )


def _refuse_competing_twice(
    conn: Connection, team_id: TeamId, reader: UserId | None, season_id: SeasonId | None = None
) -> None:
    """Raises Conflict if a member competes for another team, where this team competes.

    With ``season_id`` it checks that season alone.
    """
    viewer = (users.viewer_of_user(conn, reader) if reader is not None else None) or STRANGER
    seen_team, team_values = visibility.visible_teams(viewer)
    seen_league, league_values = visibility.visible_leagues(viewer)
    query = f"""with clash as materialized (
          select c.season_id, c.user_id, c.team_id from season_competitors c
          join seasons s on s.id = c.season_id
          join memberships m on m.user_id = c.user_id and m.team_id = %(team)s
          where c.team_id <> %(team)s and s.state <> 'finished'
            and case when %(season)s::text is null then {COMPETES} else s.id = %(season)s end
          order by c.season_id, c.user_id limit 1)
        select c.user_id, u.name, c.team_id, c.season_id from clash c
        join users u on u.id = c.user_id"""
    row = conn.execute(query, {"team": team_id, "season": season_id}).fetchone()
    if row is None:
        return
    user_id, name, other_id, where_id = row
    query = f"select t.name from teams t where t.id = %s and {seen_team}"
    team = fetch_optional(conn, str, query, (other_id, *team_values))
    query = f"""select s.number, l.title from seasons s join leagues l on l.id = s.league_id
        where s.id = %s and {seen_league}"""
    league = conn.execute(query, (where_id, *league_values)).fetchone()
    place = f"season {league[0]} of {league[1]}" if league else "a season of this team"
    with_whom = f"with the team {team}" if team else "with another team"
    if user_id == reader:
        raise Conflict(
            f"you already compete in {place} {with_whom}; a person competes once in a season, so"
            " go on with that team"
        )
    remedy = "for one team" if season_id is None else f"so {name} must leave this team first"
    raise Conflict(
        f"{name} already competes in {place} {with_whom}; a person competes once in a season,"
        f" {remedy}"
    )
