"""The games' rules, as pure code. ``GAMES`` has them by name, in the order that forms offer.

``protocol.Game`` is the interface. ``docs/how-to/bring-a-game.md``
explains how to add a game.
"""

from __future__ import annotations

from typing import Any

from games.battlesnake import GAME as BATTLESNAKE
from games.golad import GAME as GOLAD
from games.hungry_geese import GAME as HUNGRY_GEESE
from games.protocol import Game
from games.snake import GAME as SNAKE

GAMES: dict[str, Game[Any]] = {
    game.name: game for game in (HUNGRY_GEESE, BATTLESNAKE, GOLAD, SNAKE)
}
