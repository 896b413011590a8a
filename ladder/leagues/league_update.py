"""Changes a league, which may have members already."""

from __future__ import annotations

from ladder.database.db import Connection, atomic_function
from ladder.leagues import invitations, leagues
from ladder.leagues.records import League
from ladder.leagues.request_models import LeagueChange


@atomic_function
def change_league(conn: Connection, league: League, asked: LeagueChange) -> League:
    """Applies all requested changes to a league, or none.

    Raises Conflict if more people would see the league than its competitors agreed to.
    """
    invitations.refuse_unagreed_settings(
        conn,
        league.id,
        asked.visibility or league.visibility,
        asked.replay_visibility or league.replay_visibility,
    )
    change = asked.model_dump(exclude_none=True, exclude={"state"})
    changed = leagues.update_league(conn, league.id, **change)
    if asked.state is not None:
        changed = leagues.set_league_state(conn, league.id, asked.state)
    return changed
