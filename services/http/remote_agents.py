"""Sending a remote agent, for API and page: its address is read as those read it who call it."""

from __future__ import annotations

from egress.address import AddressError, parse
from games import GAMES
from ladder.database.db import Connection
from ladder.entries import sending
from ladder.entries.requests import NewRemote
from ladder.entries.sending import Entering, Sent
from ladder.errors import Invalid
from ladder.ids import AgentId
from ladder.people.records import Viewer
from sandbox.remote import manifest as manifests
from services.http import permissions
from services.http.state import State


def entering(
    conn: Connection, who: Viewer, agent: str, season: str | None, waited_seconds: float
) -> tuple[AgentId, Entering | None]:
    """The viewer's own agent, and the season that it may enter as a remote one."""
    found = permissions.own_agent(conn, who, agent)
    if season is None:
        return found.id, None
    into = permissions.season_to_enter(conn, who, season, found.team_id)
    sending.refuse_unsupported(into, GAMES.get(into.game))
    return found.id, Entering(into, waited_seconds=waited_seconds)


def manifest(asked: NewRemote) -> tuple[str, bytes]:
    """The address in its canonical form, and what is stored of it. Raises Invalid."""
    try:
        where = parse(asked.url)
        return str(where), manifests.manifest(where, asked.api)
    except AddressError as error:
        raise Invalid(error.field, error.message) from None


def send(
    conn: Connection,
    house: State,
    who: Viewer,
    asked: NewRemote,
    agent_id: AgentId,
    into: Entering | None,
) -> Sent:
    """Makes the submission and its entry."""
    url, content = manifest(asked)
    upload = sending.remote_upload(content, url, asked.message)
    sent = sending.send(conn, agent_id, upload, who.user_id, into)
    house.blobs.put_bytes(content)  # last, so that nothing is kept of what is refused
    return sent
