"""Creates a league with its first season, its anchors, and agents for empty seats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from games.protocol import Game
from ladder.database.blobs import Blobs
from ladder.database.db import Connection, atomic_function
from ladder.entries import anchors
from ladder.entries.records import Entry
from ladder.errors import Invalid
from ladder.leagues import leagues
from ladder.leagues.records import League, Season
from ladder.leagues.request_models import NewLeague
from ladder.leagues.season_creation import make_league, make_season
from ladder.people.records import Viewer


@dataclass(frozen=True, slots=True)
class OpenedLeague:
    """A new league with its season and anchors."""

    league: League
    season: Season | None
    anchors: list[Entry]


@atomic_function
def set_up_league(
    conn: Connection, blobs: Blobs, asked: NewLeague, game: Game[Any], by: Viewer
) -> OpenedLeague:
    """Creates everything that the request asks for, or nothing; ``by`` becomes host.

    Raises Invalid for a wrong value, Conflict if the slug is taken, LimitReached, and the errors of
    `anchors.enter_anchors`.
    """
    if asked.anchors and asked.season is None:
        raise Invalid("anchors", "anchors need a season; give a season too.")
    anchors.refuse_unknown_anchors(game.name, asked.anchors)
    league = make_league(conn, asked, by.user_id)
    if asked.season is None:
        return OpenedLeague(league, None, [])
    try:
        season = make_season(conn, league, asked.season, game)
    except Invalid as error:
        raise error.within("season") from None
    league = leagues.get_league(conn, league.id)  # the season changed the league's row
    entered = anchors.enter_anchors(conn, blobs, season, asked.anchors, by, fill=asked.fill)
    return OpenedLeague(league, season, entered)
