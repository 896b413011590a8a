"""Submitting an address: the form on an agent's page, for its own people."""

from __future__ import annotations

from dataclasses import dataclass

from ladder import access
from ladder.model import Agent, League, Season, Viewer
from ladder.store import remotes
from ladder.store.db import Connection
from services.api import sight
from services.web.forms import Form

FIELDS = {"season": "", "url": "", "api": "1", "message": ""}


@dataclass(frozen=True, slots=True)
class Submitting:
    """The form of an address, and the seasons that take one."""

    form: Form
    seasons: list[tuple[Season, League]]


def look(
    conn: Connection, who: Viewer, agent: Agent, form: Form | None = None
) -> Submitting | None:
    """For the people of the agent's team who may enter a season that takes remote agents."""
    if not sight.owns(who, agent.team_id) or "agents:write" not in who.scopes:
        return None
    seasons = [
        (season, league)
        for season, league in remotes.open_seasons(conn)
        if access.may_enter(who, access.league_seen(league), agent.team_id)
    ]
    return Submitting(form or Form(dict(FIELDS)), seasons) if seasons else None
