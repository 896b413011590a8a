"""Random episodes of every game of the repository, recorded as the referee records them."""

from __future__ import annotations

from random import Random
from typing import Any

from games import GAMES
from games.episode import Episode, Step, from_bytes, to_bytes
from games.protocol import Game

NAMES = ("battlesnake", "golad", "hungry_geese", "snake")
SMALL: dict[str, dict[str, Any]] = {
    "golad": {"width": 12, "height": 12, "startingCells": 40, "maxRounds": 10},
    "hungry_geese": {"episodeSteps": 40},
    "snake": {"width": 6, "height": 6, "maxSteps": 60},
}
CLOCK = {"act_seconds": 1.0, "bank_seconds": 60.0, "load": "first_move", "load_seconds": 30.0}


def random_episode(name: str, random: Random, players: Random) -> Episode:
    """A game between random players. ``random`` draws the game's chance."""
    game: Game[Any] = GAMES[name]
    configuration = game.configure(SMALL.get(name, {}))
    seats = min(2, game.seats.stop - 1)
    state, first = game.reset(configuration, seats, random)
    steps = []
    while moving := game.to_move(state):
        moves = {
            seat: game.parse(state, seat, game.sample(state, seat, players)) for seat in moving
        }
        state, drawn = game.step(state, moves, random)
        asked = [0.01 if seat in moves else None for seat in range(seats)]
        banks = [60.0 if seat in moves else None for seat in range(seats)]
        by_seat = tuple(moves.get(seat) for seat in range(seats))
        steps.append(Step(by_seat, drawn, tuple(asked), tuple(banks)))
    outcome = game.outcome(state)
    assert outcome is not None
    episode = Episode(
        game=name,
        version=game.version,
        configuration=configuration,
        clock=CLOCK,
        seats=seats,
        chance=first,
        steps=tuple(steps),
        placements=outcome.placements,
        rewards=outcome.rewards,
        verdicts=tuple(map(str, outcome.verdicts)),
    )
    return from_bytes(to_bytes(episode))
