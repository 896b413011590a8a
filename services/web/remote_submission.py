"""The form that submits an address, on the page of an agent, for its team."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ladder.database.db import Connection
from ladder.entries import entries, remote_agents
from ladder.entries.records import Agent, EntryState
from ladder.leagues import records
from ladder.leagues.records import League, Season
from ladder.leagues.seasons import seasons_with_leagues
from ladder.people.permissions import may_enter
from ladder.people.records import Viewer
from services.http import permissions
from services.web import form_texts
from services.web.forms import Form

FIELDS = {"season": "", "url": "", "api": "1", "message": ""}


@dataclass(frozen=True, slots=True)
class RemoteSubmissionForm:
    """The form of an address, and the seasons that take one."""

    form: Form
    seasons: list[tuple[Season, League]]

    @property
    def options(self) -> list[tuple[str, str]]:
        """Options of the season. If none of several is chosen, the first option asks to choose."""
        told: list[tuple[str, str]] = [
            (season.id, f"{league.title}, season {season.number}")
            for season, league in self.seasons
        ]
        return told if self.form.values["season"] else [("", form_texts.CHOOSE_ONE), *told]


def remote_submission_form(
    conn: Connection, who: Viewer, agent: Agent, form: Form | None = None
) -> RemoteSubmissionForm | None:
    """The form for members of the agent's team, if they may enter a season that takes remote
    agents. An agent that has entered a season is offered seasons of the same game alone."""
    if not permissions.may_see_private(who, agent.team_id) or "agents:write" not in who.scopes:
        return None
    entered = {
        entry.season_id for entry in entries.list_entries(conn, agent_id=agent.id, limit=100)
    }
    games = {season.game for season, _ in seasons_with_leagues(conn, entered)}
    seasons = [
        (season, league)
        for season, league in remote_agents.seasons_open_to_remote_agents(conn)
        if may_enter(who, records.league_resource(league), agent.team_id)
        and (not games or season.game in games)
    ]
    if not seasons:
        return None
    return RemoteSubmissionForm(
        form or Form({**FIELDS, "season": _likely_season(conn, agent, seasons)}), seasons
    )


def _likely_season(conn: Connection, agent: Agent, seasons: Sequence[tuple[Season, League]]) -> str:
    """The season that the agent entered last, or the only season. Else none."""
    ids = [season.id for season, _ in seasons]
    for entry in entries.list_entries(conn, agent_id=agent.id, limit=100):
        if entry.season_id in ids and entry.state is not EntryState.REJECTED:
            return entry.season_id
    return ids[0] if len(ids) == 1 else ""
