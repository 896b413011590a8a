"""Lets teams of equal entries share one place, by an act of a host, and separates them again.

Teams that share a place have one score, one rank and one medal from the next version of the
standings on. Together they count as one team. Each act writes an audit entry in its own
transaction. Matches, results and the ratings of entries stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Final

from pydantic import ConfigDict, Field

from ladder.database.db import Connection, atomic_function, fetch, fetch_one, fetch_optional, update
from ladder.errors import Conflict, Invalid, NotFound
from ladder.field_types import RECORD, KeptAs, Key, Reason, RequestModel, WordsOfPerson
from ladder.ids import SeasonId, TeamId, UserId
from ladder.leagues import medals, seasons
from ladder.people import audit_log

MOST_TEAMS: Final = 1000
"""Highest number of teams in one act."""


@dataclass(frozen=True, slots=True)
class SharedPlace:
    """Teams that share one score, rank and medal by an act of a host."""

    __pydantic_config__ = RECORD
    id: Annotated[str, Field(examples=["aud_01j8x6m3c2k4v9q0w7r5t1y8z3"])]
    """Id in the audit log."""
    reason: WordsOfPerson
    created_at: datetime
    teams: tuple[TeamId, ...]
    """Ids of the teams, by name."""
    team_names: Annotated[tuple[str, ...], KeptAs(())]
    separated: bool
    """Whether a later act separated them."""


class SharedPlaceRequest(RequestModel):
    """Teams that shall share one place, and the reason."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "teams": ["tea_01j8x6m3c2k4v9q0w7r5t1y8z3", "tea_01j8x6m3c2k4v9q0w7r5t1y8z4"],
                    "reason": "They entered copies of one agent.",
                }
            ]
        },
    )
    teams: Annotated[list[Key], Field(min_length=2, max_length=MOST_TEAMS)]
    """Ids of the teams."""
    reason: Reason


class SeparationRequest(RequestModel):
    """The reason to give teams their own places again."""

    reason: Reason


@atomic_function
def share_place(
    conn: Connection,
    season_id: SeasonId,
    team_ids: Sequence[TeamId],
    *,
    by: UserId | None,
    reason: str,
) -> SharedPlace:
    """Lets these teams share one place from the next version of the standings on.

    All sealed medals of the season are revoked, because the ranks of others change too. Raises
    NotFound, Invalid for fewer than two teams or a team without an entry, Conflict if a team shares
    a place already or the season has no scores.
    """
    season = seasons.get_season(conn, season_id)
    teams = sorted(set(team_ids))
    if not 2 <= len(teams) <= MOST_TEAMS:
        raise Invalid("teams", f"give 2 to {MOST_TEAMS} different teams")
    if season.measures:
        raise Conflict("teams share a place by their scores; a match of this season has one seat")
    version = _next_version(conn, season_id)
    query = """select distinct team_id from entries
        where season_id = %(season_id)s and team_id = any (%(teams)s) and not is_anchor
          and state in ('active', 'paused', 'retired')"""
    entered = fetch(conn, TeamId, query, {"season_id": season_id, "teams": teams})
    missing = sorted(set(teams) - set(entered))
    if missing:
        raise Invalid("teams", f"choose teams with an entry in this season: {missing[0]} has none")
    query = """select t.name from shared_places p join teams t on t.id = p.team_id
        where p.season_id = %(season_id)s and p.team_id = any (%(teams)s)
          and p.until_version is null order by t.name limit 1"""
    taken = fetch_optional(conn, str, query, {"season_id": season_id, "teams": teams})
    if taken is not None:
        raise Conflict(f"separate {taken} first: it shares a place already", field="teams")
    place = audit_log.record_audit(
        conn,
        season.league_id,
        by=by,
        act="share_place",
        subject=season_id,
        reason=reason,
        season_id=season_id,
        details={"teams": [*teams]},
    )
    with conn.cursor() as cur:
        cur.executemany(
            """insert into shared_places (place, season_id, team_id, from_version)
            values (%s, %s, %s, %s)""",
            [(place, season_id, team, version) for team in teams],
        )
    _stand_again(conn, season_id, place)
    return get_shared_place(conn, season_id, place)


@atomic_function
def separate(
    conn: Connection, season_id: SeasonId, place: str, *, by: UserId | None, reason: str
) -> SharedPlace:
    """Gives each of these teams its own place again. Raises NotFound, Conflict if it has one."""
    season = seasons.get_season(conn, season_id)
    version = _next_version(conn, season_id)
    if get_shared_place(conn, season_id, place).separated:
        raise Conflict("they have their own places already")
    update(conn, "shared_places", {"place": place}, until_version=version - 1)
    audit_id = audit_log.record_audit(
        conn,
        season.league_id,
        by=by,
        act="separate",
        subject=place,
        reason=reason,
        season_id=season_id,
    )
    _stand_again(conn, season_id, audit_id)
    return get_shared_place(conn, season_id, place)


def get_shared_place(conn: Connection, season_id: SeasonId, place: str) -> SharedPlace:
    """Returns a shared place of this season. Raises NotFound."""
    for shared_place in _select_places(conn, season_id, place):
        return shared_place
    raise NotFound.of("shared place")


def list_shared_places(conn: Connection, season_id: SeasonId) -> list[SharedPlace]:
    """Returns the places that teams share now, oldest first."""
    return [place for place in _select_places(conn, season_id, None) if not place.separated]


def teams_sharing(conn: Connection, season_id: SeasonId, version: int) -> frozenset[TeamId]:
    """Returns the teams that share a place in this version of the standings."""
    query = """select unnest(array_remove(array[t.id, t.merged_into], null)) from shared_places p
        join teams t on t.id = p.team_id
        where p.season_id = %(season_id)s
          and %(version)s between p.from_version and coalesce(p.until_version, %(version)s)"""
    teams = fetch(conn, TeamId, query, {"season_id": season_id, "version": version})
    return frozenset(teams)


def _select_places(conn: Connection, season_id: SeasonId, place: str | None) -> list[SharedPlace]:
    query = """select p.place as id, a.reason, a.created_at,
          array_agg(p.team_id order by lower(t.name), t.id) as teams,
          array_agg(t.name order by lower(t.name), t.id) as team_names,
          bool_and(p.until_version is not null) as separated
        from shared_places p join audits a on a.id = p.place join teams t on t.id = p.team_id
        where p.season_id = %(season_id)s and (%(place)s::text is null or p.place = %(place)s)
        group by p.place, a.reason, a.created_at order by p.place"""
    return fetch(conn, SharedPlace, query, {"season_id": season_id, "place": place})


def _next_version(conn: Connection, season_id: SeasonId) -> int:
    """Locks the season, so that no version is written meanwhile; returns the next one's number."""
    return fetch_one(
        conn,
        int,
        "select official_version + 1 from seasons where id = %s for no key update",
        (season_id,),
    )


def _stand_again(conn: Connection, season_id: SeasonId, audit_id: str) -> None:
    """Revokes the seals and asks for a new version; a finished season gets another final one."""
    medals.unseal_all_medals(conn, season_id, audit_id)
    query = """update seasons
        set official_is_stale = true, final_version = null, revision = revision + 1
        where id = %(season_id)s"""
    conn.execute(query, {"season_id": season_id})
