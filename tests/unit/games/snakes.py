"""Hand-made positions of Battlesnake, and careless players for tests.

Cells are (x, y), with the origin at the bottom left and y upwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from games.battlesnake import GAME
from games.battlesnake.rules import MOVES, State
from games.protocol import Verdict

Cell = tuple[int, int]
NOTHING: Mapping[str, Any] = {"food": [], "shrink": None}


def position(
    *bodies: Sequence[Cell],
    health: Sequence[int] = (),
    food: Sequence[Cell] = (),
    hazards: Sequence[Cell] = (),
    turn: int = 5,
    **overrides: Any,
) -> State:
    """A position of these snakes, head first; without random food unless asked for."""
    settings = {"minimumFood": 0, "foodSpawnChance": 0, **overrides}
    configuration = GAME.configure(settings)
    columns = range(configuration["width"])
    start = {
        "game": "g",
        "snakes": [f"s{seat}" for seat in range(len(bodies))],
        "heads": [[x, 0] for x, _ in zip(columns, bodies, strict=False)],
        "food": [list(cell) for cell in food],
    }
    state, _ = GAME.reset(configuration, len(bodies), start)
    cell = state.rules.cell
    return state._replace(
        turn=turn,
        bodies=tuple(tuple(cell(*one) for one in body) for body in bodies),
        health=tuple(health) or state.health,
        hazards=tuple(cell(*one) for one in hazards),
    )


def step(state: State, *moves: str | Verdict, chance: Mapping[str, Any] = NOTHING) -> State:
    """The next position; moves are in the order of the living seats."""
    return GAME.step(state, dict(zip(state.alive, moves, strict=True)), chance)[0]


def bodies(state: State) -> list[list[Cell]]:
    return [[state.rules.xy[cell] for cell in body] for body in state.bodies]


def causes(state: State) -> list[str | None]:
    return [cause and str(cause) for cause in state.causes]


def careless(state: State, seat: int, rng: Random) -> str | Verdict:
    """Mostly a move that survives, sometimes any move or a fault."""
    roll = rng.random()
    if roll < 0.03:
        return rng.choice((Verdict.TIMEOUT, Verdict.INVALID, Verdict.ERROR))
    if roll < 0.06:
        return rng.choice(MOVES)
    rules, head = state.rules, state.bodies[seat][0]
    taken = {cell for one in state.alive for cell in state.bodies[one][:-1]}
    taken |= rules.outside - set(rules.wraps)
    near = {move: head + offset for move, offset in rules.offsets.items()}
    safe = [move for move, cell in near.items() if rules.wraps.get(cell, cell) not in taken]
    return rng.choice(safe or MOVES)


def play(
    configuration: Mapping[str, Any], seats: int, seed: int
) -> tuple[list[State], list[Any], list[dict[int, Any]]]:
    """A whole game between careless players: states, chance events, moves."""
    chance, players = Random(seed), Random(f"players {seed}")
    state, drawn = GAME.reset(configuration, seats, chance)
    states, events, moves = [state], [drawn], []
    while asked := GAME.to_move(state):
        moves.append({seat: careless(state, seat, players) for seat in asked})
        state, drawn = GAME.step(state, moves[-1], chance)
        states.append(state)
        events.append(drawn)
    return states, events, moves
