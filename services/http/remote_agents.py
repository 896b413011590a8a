"""Submitting a remote agent, for API and page. Parses the address as the caller of agents does."""

from __future__ import annotations

from egress.address import AddressError, parse
from games import GAMES
from ladder.database.db import Connection
from ladder.entries import submit
from ladder.entries.request_models import NewRemote
from ladder.entries.submit import SeasonToEnter, SubmitResult
from ladder.errors import Invalid
from ladder.ids import AgentId
from ladder.people.records import Viewer
from sandbox.remote import manifest as manifests
from services.http import permissions
from services.http.app_state import State


def agent_and_season(
    conn: Connection, who: Viewer, agent: str, season: str | None, began: float
) -> tuple[AgentId, SeasonToEnter | None]:
    """The viewer's agent, and the season that it may enter as a remote agent."""
    found = permissions.own_agent(conn, who, agent)
    if season is None:
        return found.id, None
    into = permissions.season_to_enter(conn, who, season, found.team_id)
    submit.refuse_unsupported_game(into, GAMES.get(into.game))
    return found.id, SeasonToEnter(into, began=began)


def make_manifest(asked: NewRemote) -> tuple[str, bytes]:
    """The address in its canonical form, and the bytes to store. Raises Invalid."""
    try:
        where = parse(asked.url)
        return str(where), manifests.write_manifest(where, asked.api)
    except AddressError as error:
        raise Invalid(error.field, error.message) from None


def submit_remote_agent(
    conn: Connection,
    app_state: State,
    who: Viewer,
    asked: NewRemote,
    agent_id: AgentId,
    into: SeasonToEnter | None,
) -> SubmitResult:
    """Creates the submission and its entry."""
    url, content = make_manifest(asked)
    upload = submit.remote_upload(content, url, asked.message)
    sent = submit.submit(conn, agent_id, upload, who.user_id, into)
    app_state.blobs.put_bytes(content)  # last, so that a refused submission stores nothing
    return sent
