"""Reads the sealed medals of a season, and revokes them with an audit entry.

``ladder.ratings.medal_sealing`` seals them.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ladder.database.db import Connection, atomic_function, fetch
from ladder.field_types import RECORD
from ladder.ids import SeasonId, TeamId
from ladder.leagues.medals import BEST_FIRST, Medal


@dataclass(frozen=True, slots=True)
class SealedMedal:
    """A sealed medal, and the act that took it back, if any."""

    __pydantic_config__ = RECORD
    team_id: TeamId
    team_name: str
    medal: Medal
    chance: float
    """Probability of this class or better, by the version that sealed it."""
    version: int
    """Version of the official standing that sealed it."""
    sealed_at: datetime
    unsealed_at: datetime | None
    audit_id: str | None
    """Id of the audit entry that revoked the seal."""


def sealed_medals_of_season(conn: Connection, season_id: SeasonId) -> dict[TeamId, Medal]:
    """Returns each team's best sealed class that is not revoked."""
    sealed = fetch(
        conn,
        lambda team_id, medal: (TeamId(team_id), Medal(medal)),
        """
        select s.team_id, s.medal
        from sealed_medals s
        where s.season_id = %(season)s
          and not exists (
              select 1
              from unsealed_medals u
              where u.season_id = s.season_id
                and u.team_id = s.team_id
                and u.version = s.version
          )
        """,
        {"season": season_id},
    )
    return dict(sorted(sealed, key=lambda row: BEST_FIRST.index(row[1]), reverse=True))


def list_sealed_medals(conn: Connection, season_id: SeasonId) -> list[SealedMedal]:
    """Returns all seals of a season, newest first, revoked ones included."""
    return fetch(
        conn,
        SealedMedal,
        """
        select s.team_id, t.name as team_name, s.medal, s.chance, s.version, s.sealed_at,
               u.unsealed_at, u.audit_id
        from sealed_medals s
        join teams t on t.id = s.team_id
        left join unsealed_medals u on u.season_id = s.season_id
                                   and u.team_id = s.team_id
                                   and u.version = s.version
        where s.season_id = %(season)s
        order by s.version desc, s.chance desc, s.team_id
        """,
        {"season": season_id},
    )


def unseal_all_medals(conn: Connection, season_id: SeasonId, audit_id: str) -> None:
    """Revokes every seal of a season. The next fit seals medals again and recounts the teams."""
    for team in sealed_medals_of_season(conn, season_id):
        unseal_medals(conn, season_id, team, audit_id)
    conn.execute("update seasons set medal_teams = null where id = %s", (season_id,))


@atomic_function
def unseal_medals(conn: Connection, season_id: SeasonId, team_id: TeamId, audit_id: str) -> int:
    """Revokes the seals of a team by an audit entry; returns how many.

    The next standing may seal medals again; a finished season gets that standing immediately.
    """
    revoked = conn.execute(
        """
        insert into unsealed_medals (season_id, team_id, version, audit_id)
        select season_id, team_id, version, %(audit)s
        from sealed_medals
        where season_id = %(season)s and team_id = %(team)s
        on conflict do nothing
        """,
        {"audit": audit_id, "season": season_id, "team": team_id},
    ).rowcount
    if revoked:
        conn.execute(
            """
            update seasons
            set official_is_stale = true,
                is_sealed = false,
                final_version = null,
                revision = revision + 1
            where id = %(season)s
            """,
            {"season": season_id},
        )
    return revoked
