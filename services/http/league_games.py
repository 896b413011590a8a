"""The game of a league, for the API and the pages."""

from __future__ import annotations

from typing import Any

from games import GAMES
from games.protocol import Game
from ladder.leagues.records import League
from services.http.problems import ProblemError


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
