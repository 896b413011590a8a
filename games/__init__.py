"""Rules of the games, pure. ``GAMES`` is all there are, by name."""

from __future__ import annotations

from typing import Any

from games.battlesnake import GAME as BATTLESNAKE
from games.hungry_geese import GAME as HUNGRY_GEESE
from games.protocol import Game

GAMES: dict[str, Game[Any]] = {game.name: game for game in (BATTLESNAKE, HUNGRY_GEESE)}
