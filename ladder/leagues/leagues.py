"""Creates and reads leagues, and changes their settings, state and roles."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from psycopg import errors

from ladder import ids
from ladder.database.db import Connection, atomic, atomic_function, fetch, fetch_one, insert, update
from ladder.enums import LeagueRole, ReplayVisibility, Visibility
from ladder.errors import Conflict, Invalid, NotFound
from ladder.ids import LeagueId, UserId
from ladder.leagues.records import League
from ladder.leagues.settings import LeagueChange, LeagueSettings
from ladder.people import visibility as people_visibility
from ladder.people.records import DUTIES, STAFF, Viewer
from ladder.slugs import slug_of

LEAGUE: Final = " ".join(("select", ", ".join(League.model_fields), "from leagues"))
NEWEST_SEASON: Final = """
    left join lateral (
        select state <> 'finished' as plays, date_trunc('day', rated_at) as active_on
        from seasons
        where league_id = l.id and opens_at <= now()
        order by number desc
        limit 1
    ) s on true
"""
"""The newest opened season of league ``l``. ``plays``: it has not finished. ``active_on``: the day
of its latest rated result."""
LEAGUE_STATES: Final = ("open", "paused", "closed")


def league_of_row(*values: Any) -> League:
    """The league of a row with the columns of `LEAGUE`. Stored values are not checked again."""
    row = dict(zip(League.model_fields, values, strict=True))
    row["visibility"] = Visibility(row["visibility"])
    row["replay_visibility"] = ReplayVisibility(row["replay_visibility"])
    return League.model_construct(**row)


def create_league(
    conn: Connection, *, slug: str, game: str, created_by: UserId | None, **settings: Any
) -> League:
    """Creates a league with these `LeagueSettings`; its creator becomes a host.

    Raises Conflict if the slug is taken.
    """
    league_id = LeagueId(ids.new_id("lea"))
    columns = LeagueSettings.model_validate(settings).model_dump()
    try:
        with atomic(conn):
            insert(
                conn,
                "leagues",
                id=league_id,
                slug=slug,
                game=game,
                created_by=created_by,
                **columns,
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
    query = f"{LEAGUE} where id = %(league)s or slug = %(league)s"
    return fetch_one(conn, league_of_row, query, {"league": league}, NotFound.of("league"))


def lock_league(conn: Connection, league_id: LeagueId) -> League:
    """Locks a league for the caller's transaction and returns it as it is now."""
    conn.execute("select 1 from leagues where id = %s for update", (league_id,))
    return get_league(conn, league_id)


def get_leagues(conn: Connection, league_ids: Collection[LeagueId]) -> dict[LeagueId, League]:
    """Returns the leagues with these ids, by id."""
    leagues = fetch(
        conn, league_of_row, f"{LEAGUE} where id = any (%(leagues)s)", {"leagues": list(league_ids)}
    )
    return {league.id: league for league in leagues}


def free_slug(conn: Connection, title: str) -> str:
    """A slug made from a title that no league has: ``autumn``, else ``autumn-2`` and so on.

    Another league may take it before it is used; then creating the league raises Conflict.
    """
    base = slug_of(title, 34) or "league"
    taken = fetch(
        conn,
        str,
        "select slug from leagues where slug = %(base)s or slug like %(numbered)s",
        {"base": base, "numbered": f"{base}-%"},
    )
    return next(
        slug
        for slug in (base, *(f"{base}-{number}" for number in range(2, len(taken) + 3)))
        if slug not in taken
    )


def list_leagues(
    conn: Connection, viewer: Viewer, after: LeagueId | None = None, limit: int = 50
) -> list[League]:
    """Leagues that this viewer may see, oldest first."""
    is_visible, values = people_visibility.visible_leagues(viewer)
    query = f"{LEAGUE} l where id > %s and {is_visible} order by id limit %s"
    return fetch(conn, league_of_row, query, (after or "", *values, limit))


def list_leagues_by_activity(conn: Connection, viewer: Viewer, limit: int) -> list[League]:
    """Returns at most ``limit`` leagues that this viewer may see.

    Open leagues with an unfinished season come first, then those with the latest ``active_on``. Of
    the same day, the oldest league comes first, so new leagues displace none that play. Leagues
    without results come last, the newest first. A day, not a moment, keeps the order steady.
    """
    is_visible, values = people_visibility.visible_leagues(viewer)
    rows = conn.execute(
        f"""
        {LEAGUE} l
        {NEWEST_SEASON}
        where {is_visible}
        order by coalesce(plays, false) and state = 'open' desc,
                 active_on desc nulls last,
                 case when active_on is null then id end desc,
                 id
        limit %s
        """,
        (*values, limit),
    )
    return [league_of_row(*row) for row in rows]


@atomic_function
def update_league(conn: Connection, /, league_id: LeagueId, **settings: Any) -> League:
    """Changes these `LeagueSettings` and returns the league. Raises NotFound."""
    change = LeagueChange.model_validate(settings).model_dump(exclude_none=True)
    if change:
        update(conn, "leagues", {"id": league_id}, **change)
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
    key = {"league": league_id, "user": user_id}
    conn.execute(
        """
        insert into former_staff (league_id, user_id, role)
        select league_id, user_id, duty
        from league_members
        where league_id = %(league)s
          and user_id = %(user)s
          and duty = any (%(staff)s)
          and duty <> %(role)s
        on conflict (league_id, user_id)
            do update set role = excluded.role, ended_at = excluded.ended_at
        """,
        {**key, "staff": list(STAFF), "role": chosen or ""},
    )
    if chosen is None:
        conn.execute(
            "delete from league_members where league_id = %(league)s and user_id = %(user)s", key
        )
        return
    duty = chosen.value if chosen in DUTIES else None
    try:
        with atomic(conn):
            inserted = conn.execute(
                """
                insert into league_members (
                    league_id, user_id, role, duty, agreed_visibility, agreed_replays, agreed_remote
                )
                select id, %(user)s, %(role)s, %(duty)s,
                       visibility, replay_visibility, remote_agents
                from leagues
                where id = %(league)s
                on conflict (league_id, user_id)
                    do update set role = excluded.role, duty = excluded.duty
                """,
                {**key, "role": "viewer" if duty else chosen.value, "duty": duty},
            )
    except errors.ForeignKeyViolation:
        raise NotFound("there is no such league or user") from None
    if inserted.rowcount == 0:
        raise NotFound("there is no such league or user")
