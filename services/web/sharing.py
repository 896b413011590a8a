"""What other sites and phones show of our pages: card, clip, embedded player, QR code."""

from __future__ import annotations

import io
from typing import Final

import segno
from fastapi import Request
from markupsafe import Markup, escape

from ladder.database.db import Connection
from ladder.entries.records import Agent
from ladder.errors import NotFound
from ladder.leagues.records import League, league_resource
from ladder.matches.records import Match
from ladder.people import visibility
from ladder.people.permissions import may_see
from ladder.people.records import STRANGER
from ladder.reports.shown_publicly import public_match
from services.http.app_state import app_state_of

EMBED: Final = (640, 480)
"""Width and height of an embedded player in pixels, if the other site names no limit."""


def embed_code(site: str, match: str, size: tuple[int, int] = EMBED, step: str = "") -> str:
    """The ``<iframe>`` for another site."""
    query = f"?step={step}" if step.isdecimal() and len(step) < 8 else ""
    return (
        f'<iframe src="{escape(site)}/embed/matches/{escape(match)}{query}" width="{size[0]}"'
        f' height="{size[1]}" allow="fullscreen" loading="lazy" title="Replay"></iframe>'
    )


def site_address(request: Request) -> str:
    """The site's ``PECK_BASE_URL``, else as the visitor reached it; without a slash at its end."""
    settings = app_state_of(request).settings
    is_set = "base_url" in settings.model_fields_set
    return (settings.base_url if is_set else str(request.base_url)).rstrip("/")


def qr_code(address: str) -> Markup:
    """The QR code of an address, as SVG: dark on white in both themes."""
    drawn = io.BytesIO()
    segno.make(address, error="m").save(
        drawn, kind="svg", xmldecl=False, svgns=False, omitsize=True, border=2, light="#ffffff"
    )
    picture = drawn.getvalue().decode().replace("<svg ", '<svg aria-hidden="true" ', 1)
    return Markup(picture)  # noqa: S704 (segno escapes what it writes)


def match_sharing(request: Request, conn: Connection, match: Match) -> dict[str, str] | None:
    """Addresses of a match's card, clips and embed code. None if they are not for everybody."""
    try:
        public_match(conn, match.id)
    except NotFound:
        return None
    clip = f"/pictures/matches/{match.id}/clip"
    code = embed_code(site_address(request), match.id)
    shared = _addresses(request, "matches", match.id)
    return {**shared, "webp": f"{clip}.webp", "gif": f"{clip}.gif", "code": code}


def agent_sharing(request: Request, conn: Connection, agent: Agent) -> dict[str, str] | None:
    """Addresses of an agent's page and card. None if they are not for everybody."""
    if not visibility.sees_agent(conn, STRANGER, agent.id):
        return None
    return _addresses(request, "agents", agent.id)


def comparison_sharing(
    request: Request, conn: Connection, agent: Agent, opponent: Agent
) -> dict[str, str] | None:
    """Addresses of a comparison's page and card. None if they are not for everybody."""
    if not all(visibility.sees_agent(conn, STRANGER, one.id) for one in (agent, opponent)):
        return None
    site = site_address(request)
    return {
        "card": f"{site}/pictures/compare/{agent.id}/{opponent.id}/card.png",
        "page": f"{site}/compare?agent={agent.id}&opponent={opponent.id}",
    }


def league_sharing(request: Request, league: League) -> dict[str, str] | None:
    """Addresses of a league's page and card. None if they are not for everybody."""
    if not may_see(STRANGER, league_resource(league)):
        return None
    return _addresses(request, "leagues", league.slug)


def _addresses(request: Request, kind: str, key: str) -> dict[str, str]:
    site = site_address(request)
    return {"card": f"{site}/pictures/{kind}/{key}/card.png", "page": f"{site}/{kind}/{key}"}
