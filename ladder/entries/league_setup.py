"""Opening a league: it is made with its first season, anchors and agents for its empty seats."""

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
    """A league as it was made."""

    league: League
    season: Season | None
    anchors: list[Entry]


@atomic_function
def open_league(
    conn: Connection, blobs: Blobs, asked: NewLeague, game: Game[Any], by: Viewer
) -> OpenedLeague:
    """Makes all that is asked for, or nothing; ``by`` becomes its host.

    Raises Invalid for a value that cannot be, Conflict when the slug is taken, LimitReached, and
    what `anchors.enter` raises.
    """
    if asked.anchors and asked.season is None:
        raise Invalid("anchors", "anchors enter a season; give a season too.")
    anchors.refuse_unknown_anchors(game.name, asked.anchors)
    league = make_league(conn, asked, by.user_id)
    if asked.season is None:
        return OpenedLeague(league, None, [])
    try:
        season = make_season(conn, league, asked.season, game)
    except Invalid as error:
        raise error.within("season") from None
    league = leagues.get_league(conn, league.id)  # with what its season changed
    entered = anchors.enter_anchors(conn, blobs, season, asked.anchors, by, fill=asked.fill)
    return OpenedLeague(league, season, entered)
