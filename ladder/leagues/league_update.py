"""Changes a league, which may have members already, and the state of its seasons.

Each act is in the audit log: who, when, and what changed. For a title or description the log says
only that it changed, because deleting an account must also delete its texts.
"""

from __future__ import annotations

from typing import Final

from ladder.database.db import Connection, atomic_function
from ladder.errors import Conflict, Forbidden
from ladder.ids import SeasonId
from ladder.leagues import leagues, seasons, terms
from ladder.leagues.records import League, Season
from ladder.leagues.request_models import LeagueChange
from ladder.people import audit_log
from ladder.people.permissions import may_appoint
from ladder.people.records import Viewer

TEXTS: Final = ("title", "description")
LEAGUE_ACTS: Final = {"open": "resume", "paused": "pause", "closed": "close"}
SEASON_ACTS: Final = {"open": "reopen-season", "locked": "lock-season", "finished": "end-season"}


@atomic_function
def change_league(conn: Connection, by: Viewer, league: League, asked: LeagueChange) -> League:
    """Applies all requested changes to a league, or none; ``by`` manages the league.

    Raises Forbidden if a co-host changes who sees the league or its replays. Raises Conflict if
    more people would see the league than its competitors agreed to, or if a closed league would
    open without a new season.
    """
    is_seen_otherwise = asked.visibility is not None or asked.replay_visibility is not None
    if is_seen_otherwise and not may_appoint(by, league.id):
        raise Forbidden("Ask a host of the league: a co-host does not change who sees it.")
    terms.refuse_unagreed_settings(
        conn,
        league.id,
        asked.visibility or league.visibility,
        asked.replay_visibility or league.replay_visibility,
    )
    before = leagues.get_league(conn, league.id)  # now locked
    if before.state == "closed" and asked.state in ("open", "paused"):
        raise Conflict(
            f"this league is closed; a new season opens it again: peck season create {before.slug}",
            field="state",
        )
    change = asked.model_dump(exclude_none=True, exclude={"state"})
    changed = leagues.update_league(conn, league.id, **change)
    _record(conn, by, changed, "edit", _difference(before, changed))
    if asked.state is not None and asked.state != before.state:
        changed = leagues.set_league_state(conn, league.id, asked.state)
        what = [f"{before.state} becomes {changed.state}"]
        _record(conn, by, changed, LEAGUE_ACTS[asked.state], what)
    return changed


@atomic_function
def change_season_state(conn: Connection, by: Viewer, season_id: SeasonId, state: str) -> Season:
    """Opens, locks or finishes a season; ``by`` manages its league. Writes an audit entry.

    Raises Conflict, as `seasons.set_season_state` does.
    """
    conn.execute("select 1 from seasons where id = %s for no key update", (season_id,))
    before = seasons.get_season(conn, season_id)
    changed = seasons.set_season_state(conn, season_id, state)
    if changed.state != before.state:
        audit_log.record_audit(
            conn,
            changed.league_id,
            season_id=season_id,
            by=by.user_id,
            act=SEASON_ACTS[changed.state],
            subject=season_id,
            reason=f"season {changed.number}: {before.state} becomes {changed.state}",
        )
    return changed


def _difference(before: League, changed: League) -> list[str]:
    """What changed, such as ``visibility: public becomes private``."""
    parts = []
    for name in LeagueChange.model_fields:
        old, new = getattr(before, name), getattr(changed, name)
        if old != new:
            told = name.replace("_", " ")
            parts.append(told if name in TEXTS else f"{told}: {_text(old)} becomes {_text(new)}")
    return parts


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _record(conn: Connection, by: Viewer, league: League, act: str, what: list[str]) -> None:
    if what:
        audit_log.record_audit(
            conn, league.id, by=by.user_id, act=act, subject=league.id, reason=", ".join(what)
        )
