"""Opening a league: it is made with its first season, anchors and agents for its empty seats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from games.protocol import Game
from ladder.database.blobs import Blobs
from ladder.database.db import Connection, whole
from ladder.entries import anchors
from ladder.entries.records import Entry
from ladder.errors import Invalid
from ladder.leagues import leagues
from ladder.leagues.making import make_league, make_season
from ladder.leagues.records import League, Season
from ladder.leagues.requests import NewLeague
from ladder.people.records import Viewer


@dataclass(frozen=True, slots=True)
class Opened:
    """A league as it was made."""

    league: League
    season: Season | None
    anchors: list[Entry]


@whole
def open_league(
    conn: Connection, blobs: Blobs, asked: NewLeague, game: Game[Any], by: Viewer
) -> Opened:
    """Makes all that is asked for, or nothing; ``by`` becomes its host.

    Raises Invalid for a value that cannot be, Conflict when the slug is taken, LimitReached, and
    what `anchors.enter` raises.
    """
    if asked.anchors and asked.season is None:
        raise Invalid("anchors", "anchors enter a season; give a season too.")
    anchors.refuse_unknown(game.name, asked.anchors)
    league = make_league(conn, asked, by.user_id)
    if asked.season is None:
        return Opened(league, None, [])
    try:
        season = make_season(conn, league, asked.season, game)
    except Invalid as error:
        raise error.within("season") from None
    league = leagues.get_league(conn, league.id)  # with what its season changed
    entered = anchors.enter(conn, blobs, season, asked.anchors, by, fill=asked.fill)
    return Opened(league, season, entered)
