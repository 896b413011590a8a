"""A contest in a new private league of the host, without agents."""

from __future__ import annotations

from dataclasses import replace

from ladder.database.db import Connection
from ladder.people import tokens, users
from tests.web import seeding
from tests.web.conftest import Site
from tests.web.seeding import Contest


def empty_contest(conn: Connection, site: Site, slug: str) -> Contest:
    """A contest in a new private league of the host, without agents."""
    host_id = tokens.owner_of_token(conn, site.contest.host_token)
    assert host_id is not None
    host = users.get_user(conn, host_id)
    league, season = seeding.make_league(conn, host, slug, slug.title(), "private")
    return replace(site.contest, league=league, season=season, active=[], players={}, rated=[])
