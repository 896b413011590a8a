"""A machine that plays matches of Hungry Geese without boxes: moves follow from agent and seed.

Equal agents on equal seeds make equal moves, as on any honest machine.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from games import GAMES
from games.episode import Episode, Step
from games.protocol import Json, Verdict, with_clock
from ladder.matches.records import MatchOrder, SeatResult
from sandbox.match.clock import Clock
from sandbox.match.seeds import game_random

GAME: Final = GAMES["hungry_geese"]
MOVES: Final = ("NORTH", "EAST", "SOUTH", "WEST")
MOVE_SECONDS: Final = 0.005
"""Charge of a move."""
Policy = Callable[[Any, int, Random], Json]
"""A move for this state and seat, drawn from the generator."""


@dataclass(frozen=True, slots=True)
class Played:
    """What a machine reports of a match."""

    episode: Episode
    seats: tuple[SeatResult, ...]


def careful(skill: float) -> Policy:
    """Avoids all bodies with this probability in each step, and its own neck always."""

    def move(state: Any, seat: int, random: Random) -> Json:
        seen = GAME.observe(state, seat)
        geese, columns, rows = seen["geese"], 11, 7
        head = geese[seat][0]
        taken = {cell for goose in geese for cell in goose[:-1]}
        around = {
            "NORTH": (head - columns) % (rows * columns),
            "SOUTH": (head + columns) % (rows * columns),
            "EAST": head // columns * columns + (head + 1) % columns,
            "WEST": head // columns * columns + (head - 1) % columns,
        }
        free = [name for name in MOVES if around[name] not in taken]
        food = [name for name in free if around[name] in seen["food"]]
        if free and random.random() < skill:
            return random.choice(food or free)
        neck = geese[seat][1] if len(geese[seat]) > 1 else None
        return random.choice([name for name in MOVES if around[name] != neck])

    return move


def play(order: MatchOrder, policies: Sequence[Policy], *, lie: int | None = None) -> Played:
    """Plays the order. With ``lie`` the seat of this number moves at random from its second move
    on: the machine makes these moves up."""
    clock = Clock.from_json(order.clock)
    configuration = with_clock(GAME, order.configuration, clock.to_json())
    chance_of_game = game_random(order.seed)
    seats = len(policies)
    state, chance = GAME.reset(configuration, seats, chance_of_game)
    own = [_generator(order, seat) for seat in range(seats)]
    false = Random(f"lie {order.seed.hex()}")
    first = chance
    steps: list[Step] = []
    while to_move := GAME.to_move(state):
        moves: dict[int, Json | Verdict] = {}
        for seat in to_move:
            given = policies[seat](state, seat, own[seat])
            if seat == lie and steps:
                given = false.choice(MOVES)
            moves[seat] = GAME.parse(state, seat, given)
        charged = [MOVE_SECONDS if seat in moves else None for seat in range(seats)]
        state, chance = GAME.step(state, moves, chance_of_game)
        steps.append(
            Step(
                moves=tuple(moves.get(seat) for seat in range(seats)),
                chance=chance,
                charged_seconds=tuple(charged),
                bank_seconds=tuple(
                    clock.bank_seconds if seat in moves else None for seat in range(seats)
                ),
            )
        )
    outcome = GAME.outcome(state)
    assert outcome is not None
    episode = Episode(
        game=GAME.name,
        version=GAME.version,
        configuration=configuration,
        clock=clock.to_json(),
        seats=seats,
        chance=first,
        steps=tuple(steps),
        placements=tuple(outcome.placements),
        rewards=tuple(outcome.rewards),
        verdicts=tuple(map(str, outcome.verdicts)),
    )
    return Played(episode, tuple(_seat_result(episode, seat) for seat in range(seats)))


def _seat_result(episode: Episode, seat: int) -> SeatResult:
    charges = [step.charged_seconds[seat] or 0.0 for step in episode.steps]
    return SeatResult(
        seat=seat,
        placement=episode.placements[seat],
        reward=episode.rewards[seat],
        verdict=episode.verdicts[seat],
        reason=None,
        failed_step=None,
        charged_seconds=round(sum(charges), 6),
        max_move_seconds=round(max(charges, default=0.0), 6),
        log_digest=None,
    )


def _generator(order: MatchOrder, seat: int) -> Random:
    text = f"{order.digests[seat]} {order.seed.hex()} {seat}"
    return Random(hashlib.sha256(text.encode()).digest())
