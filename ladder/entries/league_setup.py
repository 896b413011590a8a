"""Creates a league with its first season, its anchors, and agents for empty seats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from games.protocol import Game
from ladder.database.blobs import Blobs
from ladder.database.db import Connection, atomic_function
from ladder.entries import anchors, medal_lines
from ladder.entries.records import Entry
from ladder.errors import Invalid
from ladder.leagues import leagues
from ladder.leagues.hosting import add_next_season, make_league, make_season
from ladder.leagues.records import League, Season
from ladder.leagues.settings import NewLeague, NextSeason
from ladder.people.records import Viewer


@dataclass(frozen=True, slots=True)
class OpenedLeague:
    """A new league with its season and anchors."""

    league: League
    season: Season | None
    anchors: list[Entry]


@atomic_function
def set_up_league(
    conn: Connection, blobs: Blobs, new: NewLeague, game: Game[Any], by: Viewer
) -> OpenedLeague:
    """Creates everything that the request asks for, or nothing; ``by`` becomes host.

    Raises Invalid for a wrong value, Conflict if the slug is taken, LimitReached, and the errors of
    `anchors.enter_anchors`.
    """
    if new.anchors and new.season is None:
        raise Invalid("anchors", "anchors need a season; give a season too.")
    anchors.refuse_unknown_anchors(game.name, new.anchors)
    league = make_league(conn, new, by.user_id)
    if new.season is None:
        return OpenedLeague(league, None, [])
    try:
        season = make_season(conn, league, new.season, game)
        _refuse_unknown_lines(season)
    except Invalid as error:
        raise error.within("season") from None
    league = leagues.get_league(conn, league.id)  # the season changed the league's row
    entered = anchors.enter_anchors(conn, blobs, season, new.anchors, by, fill=new.fill)
    return OpenedLeague(league, season, entered)


@atomic_function
def open_next_season(
    conn: Connection,
    blobs: Blobs,
    by: Viewer,
    league: League,
    new: NextSeason,
    game: Game[Any],
) -> Season:
    """Creates a season of a league with earlier ones, and enters the anchors of its medal lines.

    Raises the errors of
    `hosting.add_next_season` and `anchors.enter_anchors`.
    """
    season = add_next_season(conn, by, league, new, game)
    _refuse_unknown_lines(season)
    anchors.enter_anchors(conn, blobs, season, [], by, fill=new.fill)
    return season


def _refuse_unknown_lines(season: Season) -> None:
    """Raises Invalid for a medal line that names no reference agent of the game."""
    try:
        medal_lines.refuse_unknown_agents(season.game, season.medal_rules)
    except Invalid as error:
        raise error.within("medals") from None
