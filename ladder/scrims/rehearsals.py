"""Plays one match of a season with its reference agents, so that a host sees that it works.

A rehearsal is a scrim of one game, private to a team of the host. It rates nobody, and it can be
played before the season opens.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Final

from psycopg.types.json import Jsonb
from pydantic import Field

from ladder import ids
from ladder.database.db import Connection, atomic_function, fetch_one
from ladder.entries.records import EntryState
from ladder.enums import MatchKind
from ladder.errors import Conflict
from ladder.field_types import RECORD
from ladder.ids import LeagueId, MatchId, ScrimId, SeasonId, TeamId, UserId
from ladder.leagues import seasons
from ladder.matches import matches
from ladder.matches.records import LineupSeat
from ladder.people import users
from ladder.runtime_profiles import REMOTE
from ladder.scrims.policies import ScrimLimitReached

MOST_DAILY: Final = 50
"""Rehearsals of a season by one team in a UTC day."""


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """A requested rehearsal."""

    __pydantic_config__ = RECORD
    scrim_id: Annotated[ScrimId, Field(examples=["scr_01j8x6m3c2k4v9q0w7r5t1y8z3"])]
    match_id: Annotated[MatchId, Field(examples=["mat_01j8x6m3c2k4v9q0w7r5t1y8z3"])]
    agents: Annotated[tuple[str, ...], Field(examples=[["Greedy", "Survivor"]])]
    """Names by seat."""


@atomic_function
def request_rehearsal(conn: Connection, league_id: LeagueId, user_id: UserId) -> Rehearsal:
    """Queues one match of active reference agents of the league's newest season, open or not.

    The caller checks that the user hosts the league. An agent takes more than one seat if there are
    too few of them. Raises Conflict (no season, no active reference agent, no team) and
    ScrimLimitReached.
    """
    season = next(iter(seasons.list_seasons(conn, league_id)), None)
    if season is None or season.state == "finished":
        raise Conflict("make a season first: this league has none that can be played")
    teams = users.teams_of(conn, user_id)
    if not teams:
        raise Conflict("make a team first: only the team of a host sees its rehearsal")
    team_id = teams[0].id
    # Lock the team's row, so simultaneous requests are counted in turn.
    conn.execute("select 1 from teams where id = %s for no key update", (team_id,))
    _refuse_over_limit(conn, season.id, team_id)
    anchors = _active_anchors(conn, season.id)
    seated = [anchors[seat % len(anchors)] for seat in range(season.seats)]
    lineup = [seat for seat, _ in seated]
    scrim_id = ScrimId(ids.new_id("scr"))
    conn.execute(
        """
        insert into scrims (id, season_id, team_id, requested_by, lineup, games)
        values (%s, %s, %s, %s, %s, 1)
        """,
        (scrim_id, season.id, team_id, user_id, Jsonb([seat.submission_id for seat in lineup])),
    )
    match_id = matches.create_match(
        conn, season=season, kind=MatchKind.SCRIM, lineup=lineup, scrim_id=scrim_id
    )
    return Rehearsal(scrim_id, match_id, tuple(name for _, name in seated))


def _active_anchors(conn: Connection, season_id: SeasonId) -> list[tuple[LineupSeat, str]]:
    """Seats and names of the active reference agents. Raises Conflict if none is active."""
    rows = conn.execute(
        """
        select e.id, e.submission_id, e.agent_id, e.team_id, e.profile, e.state, a.name
        from entries e join agents a on a.id = e.agent_id
        where e.season_id = %s and e.is_anchor and e.profile <> %s and e.state = any (%s)
        order by e.id
        """,
        (season_id, REMOTE, [EntryState.ACTIVE, EntryState.PENDING]),
    ).fetchall()
    if not rows:
        raise Conflict("add reference agents first, with `peck league fill`: this season has none")
    active = [(LineupSeat(*row[:5]), row[6]) for row in rows if row[5] == EntryState.ACTIVE]
    if not active:
        raise Conflict("try again in a minute: the reference agents are still in validation")
    return active


def _refuse_over_limit(conn: Connection, season_id: SeasonId, team_id: TeamId) -> None:
    """Raises ScrimLimitReached above today's limit; the caller has locked the team's row."""
    query = """
        select count(*), date_trunc('day', now(), 'utc') + interval '1 day' from scrims
        where team_id = %s and season_id = %s and games = 1
          and created_at >= date_trunc('day', now(), 'utc')"""
    used, resets_at = fetch_one(conn, tuple[int, datetime], query, (team_id, season_id))
    if used >= MOST_DAILY:
        name = "single games of your team here a day"
        raise ScrimLimitReached(name, used, MOST_DAILY, resets_at)
