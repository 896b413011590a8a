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

from ladder.database.db import Connection, atomic_function
from ladder.errors import Conflict, Invalid, NotFound
from ladder.field_types import RECORD, KeptAs, Key, Reason, RequestModel, WordsOfPerson
from ladder.ids import SeasonId, TeamId, UserId
from ladder.leagues import sealed_medals, seasons
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
    wanted = sorted(set(team_ids))
    if not 2 <= len(wanted) <= MOST_TEAMS:
        raise Invalid("teams", f"give 2 to {MOST_TEAMS} different teams")
    if season.measures:
        raise Conflict("teams share a place by their scores; a match of this season has one seat")
    version = _next_version(conn, season_id)
    rows = conn.execute(
        "select distinct team_id from entries where season_id = %s and team_id = any (%s)"
        " and not is_anchor and state in ('active', 'paused', 'retired')",
        (season_id, wanted),
    ).fetchall()
    missing = sorted(set(wanted) - {row[0] for row in rows})
    if missing:
        raise Invalid("teams", f"choose teams with an entry in this season: {missing[0]} has none")
    taken = conn.execute(
        "select t.name from shared_places p join teams t on t.id = p.team_id"
        " where p.season_id = %s and p.team_id = any (%s) and p.until_version is null"
        " order by t.name limit 1",
        (season_id, wanted),
    ).fetchone()
    if taken is not None:
        raise Conflict(f"separate {taken[0]} first: it shares a place already", field="teams")
    place = audit_log.record_audit(
        conn,
        season.league_id,
        by=by,
        act="share_place",
        subject=season_id,
        reason=reason,
        season_id=season_id,
        details={"teams": [*wanted]},
    )
    with conn.cursor() as cur:
        cur.executemany(
            "insert into shared_places (place, season_id, team_id, from_version)"
            " values (%s, %s, %s, %s)",
            [(place, season_id, team, version) for team in wanted],
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
    conn.execute(  # a place that no version has used yet leaves no trace in the standings
        "update shared_places set until_version = %s where place = %s", (version - 1, place)
    )
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
    for found in _select_places(conn, season_id, place):
        return found
    raise NotFound.of("shared place")


def list_shared_places(conn: Connection, season_id: SeasonId) -> list[SharedPlace]:
    """Returns the places that teams share now, oldest first."""
    return [each for each in _select_places(conn, season_id, None) if not each.separated]


def teams_sharing(conn: Connection, season_id: SeasonId, version: int) -> frozenset[TeamId]:
    """Returns the teams that share a place in this version of the standings."""
    rows = conn.execute(
        "select unnest(array_remove(array[t.id, t.merged_into], null))"
        " from shared_places p join teams t on t.id = p.team_id"
        " where p.season_id = %s and %s between p.from_version and coalesce(p.until_version, %s)",
        (season_id, version, version),
    )
    return frozenset(team for (team,) in rows)


def _select_places(conn: Connection, season_id: SeasonId, place: str | None) -> list[SharedPlace]:
    rows = conn.execute(
        "select p.place, a.reason, a.created_at,"
        " array_agg(p.team_id order by lower(t.name), t.id),"
        " array_agg(t.name order by lower(t.name), t.id), bool_and(p.until_version is not null)"
        " from shared_places p join audits a on a.id = p.place join teams t on t.id = p.team_id"
        " where p.season_id = %s and (%s::text is null or p.place = %s)"
        " group by p.place, a.reason, a.created_at order by p.place",
        (season_id, place, place),
    ).fetchall()
    return [
        SharedPlace(place_id, reason, created_at, tuple(teams), tuple(names), separated)
        for place_id, reason, created_at, teams, names, separated in rows
    ]


def _next_version(conn: Connection, season_id: SeasonId) -> int:
    """Locks the season, so that no version is written meanwhile; returns the next one's number."""
    row = conn.execute(
        "select official_version + 1 from seasons where id = %s for no key update", (season_id,)
    ).fetchone()
    assert row is not None
    return int(row[0])


def _stand_again(conn: Connection, season_id: SeasonId, audit_id: str) -> None:
    """Revokes the seals and asks for a new version; a finished season gets another final one."""
    sealed_medals.unseal_all_medals(conn, season_id, audit_id)
    conn.execute(
        "update seasons set official_is_stale = true, final_version = null,"
        " revision = revision + 1 where id = %s",
        (season_id,),
    )
