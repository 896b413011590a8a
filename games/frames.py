"""An episode as frames for viewers, for games without a format of their own.

``frames[0]`` is the start, ``frames[n]`` the position after ``steps[n - 1]``. The game decides what
a frame holds (``Game.frame``). Steps are alike in all games. ``placements``, ``rewards`` and
``verdicts`` are null while the episode is being played.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from games import GAMES
from games.episode import Episode, Step, states
from games.protocol import Game, GameError, Json

FORMAT = "peck-frames/1"


def frames_json(episode: Episode) -> dict[str, Json]:
    """The document of an episode. Raises GameError for an unknown game."""
    game: Game[Any] | None = GAMES.get(episode.game)
    if game is None:
        raise GameError(f"game: {episode.game!r:.100} is unknown here")
    return {
        **head(episode),
        "frames": [game.frame(state) for state in states(game, episode)],
        "steps": [shown_step(step) for step in episode.steps],
        "placements": list(episode.placements) or None,
        "rewards": list(episode.rewards) or None,
        "verdicts": list(episode.verdicts) or None,
    }


def head(episode: Episode) -> dict[str, Json]:
    """The fields of the document that never change while the episode is played."""
    return {
        "format": FORMAT,
        "game": episode.game,
        "version": episode.version,
        "configuration": dict(episode.configuration),
        "clock": dict(episode.clock),
        "seats": episode.seats,
    }


def shown_step(step: Step) -> dict[str, Json]:
    """Moves and faults as separate tuples by seat. A missing one is null."""
    faults = [
        move["fault"] if isinstance(move, Mapping) and "fault" in move else None
        for move in step.moves
    ]
    return {
        "moves": [None if fault else move for move, fault in zip(step.moves, faults, strict=True)],
        "faults": faults,
        "charged_seconds": list(step.charged_seconds),
        "bank_seconds": list(step.bank_seconds),
    }
