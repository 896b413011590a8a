"""The form that declares a team's entry, on the pages of its agents."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from ladder.database.db import Connection
from ladder.entries import declared_entry, entries
from ladder.entries.records import Agent, Entry, EntryState
from ladder.ids import EntryId
from ladder.leagues.records import Season
from ladder.people.records import Viewer
from services.http import permissions
from services.web.forms import Form

MOST: Final = 100


@dataclass(frozen=True, slots=True)
class DeclaredEntryForm:
    """The entries to choose from, and the present choice."""

    season: Season
    form: Form
    candidates: list[Entry]
    current: Entry | None
    """The declared entry. None: the service chooses the entry."""
    is_open: bool
    may: bool
    """Whether this session's token may declare an entry."""


def declared_entry_form(
    conn: Connection, who: Viewer, agent: Agent, season: Season | None, form: Form | None = None
) -> DeclaredEntryForm | None:
    """The form for members of the agent's team. None for others, and if nothing can be declared."""
    if season is None or not permissions.may_see_private(who, agent.team_id):
        return None
    active = entries.list_entries(
        conn,
        season_id=season.id,
        team_id=agent.team_id,
        state=EntryState.ACTIVE,
        limit=MOST,
    )
    candidates = [entry for entry in active if not entry.is_anchor]
    entry_id = declared_entry.declared_entry_of_team(conn, season.id, agent.team_id)
    current = None if entry_id is None else entries.get_entry(conn, EntryId(entry_id))
    if not candidates and current is None:
        return None
    closing = [date for date in (season.closes_at, season.ends_at) if date is not None]
    return DeclaredEntryForm(
        season=season,
        form=form or Form({"season": season.id, "entry": entry_id or ""}),
        candidates=candidates,
        current=current,
        is_open=season.state == "open" and all(date > datetime.now(UTC) for date in closing),
        may="agents:write" in who.scopes or who.is_admin,
    )
