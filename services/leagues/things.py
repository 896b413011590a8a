"""The leagues and seasons in addresses, as far as the viewer may see or host them."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Depends

from games import GAMES
from games.protocol import Game
from ladder.leagues import leagues
from ladder.leagues.records import League, Season
from services.http import permissions
from services.http.app_state import Db
from services.http.auth import Anyone
from services.http.path_parameters import LeagueKey, SeasonKey
from services.http.problems import ProblemError


def visible_league(league: LeagueKey, conn: Db, viewer: Anyone) -> League:
    return permissions.visible_league(conn, viewer, league)


def hosted_league(league: LeagueKey, conn: Db, viewer: Anyone) -> League:
    return permissions.hosted_league(conn, viewer, league)


def visible_season(season: SeasonKey, conn: Db, viewer: Anyone) -> Season:
    return permissions.visible_season(conn, viewer, season)


def hosted_season(season: SeasonKey, conn: Db, viewer: Anyone) -> Season:
    return permissions.hosted_season(conn, viewer, season)[0]


VisibleLeague = Annotated[League, Depends(visible_league)]
HostedLeague = Annotated[League, Depends(hosted_league)]
"""A league of which the viewer is a host. Administrators may use any."""
VisibleSeason = Annotated[Season, Depends(visible_season)]
HostedSeason = Annotated[Season, Depends(hosted_season)]


def league_of_season(season: HostedSeason, conn: Db) -> League:
    return leagues.get_league(conn, season.league_id)


LeagueOfSeason = Annotated[League, Depends(league_of_season)]
"""The league of the hosted season in the address."""


def game_of(league: League) -> Game[Any]:
    """The rules of the league's game. Raises ProblemError if this site no longer has the game."""
    game = GAMES.get(league.game)
    if game is None:
        raise ProblemError(
            "conflict",
            f"This site no longer has the game {league.game!r}. Ask the operator to add it to"
            " PECK_GAMES.",
        )
    return game
