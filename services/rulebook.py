"""What a season takes over from its game."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from games.protocol import Game
from ladder.leagues.measures import Measure
from ladder.ratings.online import KAGGLE, OWN_SEAT


def rating_of(game: Game[Any], seats: int) -> dict[str, Any]:
    """How a season of this game rates, in the words of ``leagues.create_season``.

    By the game's measures where a match has one seat. A seat at fault is last for its own update
    alone where the game removes it; where the rules make play of a fault, its placement counts.
    """
    if seats == 1:
        return {"measures": [Measure.of_json(asdict(each)) for each in game.measures]}
    return {"fault_rule": KAGGLE if game.lenient else OWN_SEAT}
