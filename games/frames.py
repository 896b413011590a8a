"""An episode as frames for viewers, for games without a format of their own.

``frames[0]`` is the start, ``frames[n]`` the position after ``steps[n - 1]``. The game decides what
a frame holds (``Game.frame``). Steps are alike in all games. ``placements``, ``rewards`` and
``verdicts`` are null while the episode is being played. Then steps come in as
``games.episode.step_document`` writes them, and JSON texts come out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from games import GAMES
from games.episode import Episode, EpisodeError, Step, next_state, read_start, read_step, states
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


class LiveFrames:
    """The frames of one episode so far. One thread may add while others read."""

    def __init__(self, start: Mapping[str, Json]) -> None:
        """Begins with ``start``, made by `start_document`. Raises GameError."""
        self._episode = read_start(start)
        game: Game[Any] | None = GAMES.get(self._episode.game)
        if game is None:
            raise GameError(f"game: {self._episode.game!r:.100} is unknown here")
        self._game = game
        self._state, _ = game.reset(
            self._episode.configuration, self._episode.seats, self._episode.chance
        )
        self._head = _text(head(self._episode))
        self._steps: list[str] = []
        self._frames = [_text(game.frame(self._state))]
        self.size = len(self._head) + len(self._frames[0])
        """Characters of all texts."""

    def __len__(self) -> int:
        return len(self._frames)

    def add(self, document: Mapping[str, Json]) -> None:
        """Adds a step, made by `step_document`. Raises EpisodeError."""
        try:
            step = read_step(document, self._episode.seats)
            self._state = next_state(self._game, self._state, step)
            frame, shown = _text(self._game.frame(self._state)), _text(shown_step(step))
        except (GameError, KeyError, TypeError, ValueError) as error:
            raise EpisodeError(f"step {len(self)}: {error}") from error
        self._steps.append(shown)
        self._frames.append(frame)  # last: readers count frames
        self.size += len(frame) + len(shown)

    def end_within(self, first: int, end: int, characters: int) -> int:
        """The end of a piece from frame ``first`` on: at most so many characters and up to ``end``,
        but at least one frame."""
        reached, size = first + 1, self._length(first)
        while reached < end and (size := size + self._length(reached)) <= characters:
            reached += 1
        return reached

    def _length(self, number: int) -> int:
        before = self._steps[number - 1] if number else self._head
        return len(self._frames[number]) + len(before)

    def cut(self, first: int, end: int) -> str:
        """The frames from number ``first`` up to, not including, ``end``, and the steps to them.

        From 0 on it is the document of `frames_json` without a result, and ``first``. From a later
        frame on it has ``first``, ``frames`` and ``steps`` alone.
        """
        shown = ",".join(self._frames[first:end])
        steps = ",".join(self._steps[max(0, first - 1) : max(0, end - 1)])
        growth = f'"first":{first},"frames":[{shown}],"steps":[{steps}]'
        if first:
            return f"{{{growth}}}"
        return f'{self._head[:-1]},{growth},"placements":null,"rewards":null,"verdicts":null}}'


def _text(value: Json) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)
