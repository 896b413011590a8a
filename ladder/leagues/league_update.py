"""Changes a league, which may have members already."""

from __future__ import annotations

from ladder.database.db import Connection, atomic_function
from ladder.errors import Forbidden
from ladder.leagues import agreements, leagues
from ladder.leagues.records import League
from ladder.leagues.request_models import LeagueChange
from ladder.people.permissions import may_appoint
from ladder.people.records import Viewer


@atomic_function
def change_league(conn: Connection, by: Viewer, league: League, asked: LeagueChange) -> League:
    """Applies all requested changes to a league, or none; ``by`` manages the league.

    Raises Forbidden if a co-host changes who sees the league or its replays. Raises Conflict if
    more people would see the league than its competitors agreed to.
    """
    is_seen_otherwise = asked.visibility is not None or asked.replay_visibility is not None
    if is_seen_otherwise and not may_appoint(by, league.id):
        raise Forbidden("Ask a host of the league: a co-host does not change who sees it.")
    agreements.refuse_unagreed_settings(
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
