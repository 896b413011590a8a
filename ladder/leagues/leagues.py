"""Creates and changes leagues and their members."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from psycopg import errors
from psycopg.rows import dict_row

from ladder import ids
from ladder.database.db import Connection, atomic, atomic_function
from ladder.enums import LeagueRole, ReplayVisibility, Visibility
from ladder.errors import Conflict, Invalid, NotFound
from ladder.ids import LeagueId, UserId
from ladder.leagues.records import League
from ladder.people import visibility as people_visibility
from ladder.people.records import Viewer
from ladder.people.roles import DUTIES, STAFF
from ladder.slugs import slug_of

LEAGUE: Final = (
    "select id, slug, title, description, game, visibility, replay_visibility, state,"
    " same_team_lineups, created_at, remote_agents, takes_requests,"
    " live_delay_seconds from leagues"
)


NEWEST_SEASON: Final = (
    "select state <> 'finished' as plays, date_trunc('day', rated_at) as active_on from seasons"
    " where league_id = l.id and opens_at <= now() order by number desc limit 1"
)
"""Query for the newest opened season of league ``l``. ``plays``: it has not finished.
``active_on``: the day of its latest rated result.
"""


LEAGUE_STATES: Final = ("open", "paused", "closed")


def create_league(
    conn: Connection,
    *,
    slug: str,
    title: str,
    game: str,
    visibility: Visibility | str,
    replay_visibility: ReplayVisibility | str,
    created_by: UserId | None,
    description: str = "",
    same_team_lineups: bool = False,
) -> League:
    """Creates a league; its creator becomes a host. Raises Conflict if the slug is taken."""
    league_id = LeagueId(ids.new_id("lea"))
    try:
        with atomic(conn):
            conn.execute(
                "insert into leagues (id, slug, title, description, game, visibility,"
                " replay_visibility, same_team_lineups, created_by)"
                " values (%s, %s, %s, %s, %s, %s, %s, %s, %s)",
                (
                    league_id,
                    slug,
                    title,
                    description,
                    game,
                    Visibility(visibility).value,
                    ReplayVisibility(replay_visibility).value,
                    same_team_lineups,
                    created_by,
                ),
            )
            if created_by is not None:
                set_member_role(conn, league_id, created_by, LeagueRole.HOST)
    except errors.UniqueViolation:
        raise Conflict(
            f"a league {slug!r} already exists; choose another slug", field="slug"
        ) from None
    except errors.ForeignKeyViolation:
        raise NotFound.of("user") from None
    return get_league(conn, league_id)


def get_league(conn: Connection, league: LeagueId | str) -> League:
    """Returns the league with this id or slug. Raises NotFound."""
    column = "id" if ids.is_id(league, "lea") else "slug"
    with conn.cursor(row_factory=dict_row) as cur:
        row = cur.execute(f"{LEAGUE} where {column} = %s", (league,)).fetchone()
    if row is None:
        raise NotFound.of("league")
    return league_from_row(row)


def lock_league(conn: Connection, league_id: LeagueId) -> League:
    """Locks a league for the caller's transaction and returns it as it is now."""
    conn.execute("select 1 from leagues where id = %s for update", (league_id,))
    return get_league(conn, league_id)


def get_leagues(conn: Connection, league_ids: Collection[LeagueId]) -> dict[LeagueId, League]:
    """Returns the leagues with these ids, by id."""
    with conn.cursor(row_factory=dict_row) as cur:
        rows = cur.execute(f"{LEAGUE} where id = any (%s)", (list(league_ids),)).fetchall()
    return {row["id"]: league_from_row(row) for row in rows}


def free_slug(conn: Connection, title: str) -> str:
    """A slug made from a title that no league has: ``autumn``, else ``autumn-2`` and so on.

    Another league may take it before it is used; then creating the league raises Conflict.
    """
    base = slug_of(title, 34) or "league"
    taken = {
        row[0]
        for row in conn.execute(
            "select slug from leagues where slug = %s or slug like %s", (base, f"{base}-%")
        )
    }
    return next(
        slug
        for slug in (base, *(f"{base}-{number}" for number in range(2, len(taken) + 3)))
        if slug not in taken
    )


def list_leagues(
    conn: Connection, viewer: Viewer, after: LeagueId | None = None, limit: int = 50
) -> list[League]:
    """Leagues that this viewer may see, oldest first."""
    seen, values = people_visibility.visible_leagues(viewer)
    with conn.cursor(row_factory=dict_row) as cur:
        rows = cur.execute(
            f"{LEAGUE} l where id > %s and {seen} order by id limit %s",
            (after or "", *values, limit),
        ).fetchall()
    return [league_from_row(row) for row in rows]


def list_leagues_by_activity(conn: Connection, viewer: Viewer, limit: int) -> list[League]:
    """Returns at most ``limit`` leagues that this viewer may see.

    Open leagues with an unfinished season come first, then those with the latest ``active_on``. Of
    the same day, the oldest league comes first, so new leagues displace none that play. Leagues
    without results come last, the newest first. A day, not a moment, keeps the order steady.
    """
    seen, values = people_visibility.visible_leagues(viewer)
    with conn.cursor(row_factory=dict_row) as cur:
        rows = cur.execute(
            f"{LEAGUE} l left join lateral ({NEWEST_SEASON}) s on true where {seen} order by"
            " coalesce(plays, false) and state = 'open' desc, active_on desc nulls last,"
            " case when active_on is null then id end desc, id limit %s",
            (*values, limit),
        ).fetchall()
    return [league_from_row(row) for row in rows]


@atomic_function
def update_league(
    conn: Connection,
    league_id: LeagueId,
    *,
    title: str | None = None,
    description: str | None = None,
    visibility: Visibility | None = None,
    replay_visibility: ReplayVisibility | None = None,
    same_team_lineups: bool | None = None,
    takes_requests: bool | None = None,
    live_delay_seconds: int | None = None,
) -> League:
    """Changes the given values and returns the league. Raises NotFound."""
    conn.execute(
        "update leagues set title = coalesce(%s, title), description = coalesce(%s, description),"
        " visibility = coalesce(%s, visibility),"
        " replay_visibility = coalesce(%s, replay_visibility),"
        " same_team_lineups = coalesce(%s, same_team_lineups),"
        " takes_requests = coalesce(%s, takes_requests),"
        " live_delay_seconds = coalesce(%s, live_delay_seconds) where id = %s",
        (
            *(title, description, visibility, replay_visibility),
            *(same_team_lineups, takes_requests, live_delay_seconds, league_id),
        ),
    )
    return get_league(conn, league_id)


def set_league_state(conn: Connection, league_id: LeagueId, state: str) -> League:
    """Opens, pauses (no new matches) or closes a league. Raises LadderError for another state."""
    if state not in LEAGUE_STATES:
        raise Invalid("state", f"{state!r} unknown; choose from {', '.join(LEAGUE_STATES)}")
    conn.execute("update leagues set state = %s where id = %s", (state, league_id))
    return get_league(conn, league_id)


def set_member_role(
    conn: Connection, league_id: LeagueId, user_id: UserId, role: LeagueRole | str | None
) -> None:
    """Gives a person this role; None removes them. Raises NotFound.

    A grader or commentator who stops being one is noted in ``former_staff``.
    """
    chosen = None if role is None else LeagueRole(role)
    conn.execute(
        "insert into former_staff (league_id, user_id, role)"
        " select league_id, user_id, duty from league_members where league_id = %s"
        " and user_id = %s and duty = any (%s) and duty <> %s on conflict (league_id, user_id)"
        " do update set role = excluded.role, ended_at = excluded.ended_at",
        (league_id, user_id, list(STAFF), chosen or ""),
    )
    if chosen is None:
        conn.execute(
            "delete from league_members where league_id = %s and user_id = %s", (league_id, user_id)
        )
        return
    duty = chosen.value if chosen in DUTIES else None
    try:
        with atomic(conn):
            given = conn.execute(
                "insert into league_members"
                " (league_id, user_id, role, duty, agreed_visibility, agreed_replays,"
                " agreed_remote)"
                " select id, %s, %s, %s, visibility, replay_visibility, remote_agents from leagues"
                " where id = %s on conflict (league_id, user_id)"
                " do update set role = excluded.role, duty = excluded.duty",
                (user_id, "viewer" if duty else chosen.value, duty, league_id),
            )
    except errors.ForeignKeyViolation:
        raise NotFound("there is no such league or user") from None
    if given.rowcount == 0:
        raise NotFound("there is no such league or user")


def league_from_row(row: dict[str, Any]) -> League:
    row["visibility"] = Visibility(row["visibility"])
    row["replay_visibility"] = ReplayVisibility(row["replay_visibility"])
    return League(**row)
