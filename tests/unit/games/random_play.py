"""Random play of any game, for tests that need an episode."""

from __future__ import annotations

from random import Random
from typing import Any

from games.episode import Episode, Step
from games.protocol import Game, Json

MOST_STEPS = 200


def play(game: Game[Any], seed: int) -> Episode:
    """Random play, cut after ``MOST_STEPS``."""
    rng, seats = Random(seed), max(count for count in game.seats if count <= 4)
    configuration = game.configure({})
    state, chance = game.reset(configuration, seats, rng)
    steps: list[Step] = []
    nothing = (None,) * seats
    while len(steps) < MOST_STEPS and (asked := game.to_move(state)):
        moves: list[Json] = [None] * seats
        for seat in asked:
            moves[seat] = game.parse(state, seat, game.sample(state, seat, rng))
        state, event = game.step(state, {seat: moves[seat] for seat in asked}, rng)
        steps.append(Step(tuple(moves), event, nothing, nothing))
    return Episode(
        game.name,
        game.version,
        configuration,
        dict(game.clock),
        seats,
        chance,
        tuple(steps),
        (1,) * seats,
        (0.0,) * seats,
        ("DONE",) * seats,
    )
