"""Hand-made positions of Hungry Geese, and players for tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from games.episode import Episode, Step
from games.hungry_geese import GAME, MOVES, OPPOSITE, State, rules_for
from games.protocol import Verdict

CLOCK = {"act_seconds": 1.0, "bank_seconds": 60.0, "load": "first_move", "load_seconds": 30.0}


def position(
    geese: Sequence[Sequence[int]],
    food: Sequence[int] = (70, 71),
    *,
    last: Sequence[str | None] | None = None,
    step: int = 5,
    **overrides: Any,
) -> State:
    """A position on the standard board: row * 11 + column, 7 rows, unless overridden."""
    configuration = GAME.configure(overrides)
    return State(
        rules=rules_for(
            configuration["columns"],
            configuration["rows"],
            configuration["episodeSteps"],
            configuration["hunger_rate"],
            configuration["min_food"],
            configuration["max_length"],
        ),
        step=step,
        geese=tuple(map(tuple, geese)),
        food=tuple(food),
        active=tuple(seat for seat, goose in enumerate(geese) if goose),
        last_moves=tuple(last) if last else (None,) * len(geese),
        paid=(0,) * len(geese),
        verdicts=tuple(Verdict.ACTIVE if goose else Verdict.DONE for goose in geese),
        endings=(None,) * len(geese),
    )


def step(state: State, *moves: Any, food: Sequence[int] = ()) -> State:
    """The position after these moves by seat, with this new food."""
    given = {seat: move for seat, move in enumerate(moves) if move is not None}
    after, chance = GAME.step(state, given, {"food": list(food)})
    assert chance == {"food": list(food)}
    return after


def careless(state: State, seat: int, rng: Random) -> Any:
    """Mostly a move away from all bodies, sometimes any move or a fault."""
    dice = rng.random()
    if dice < 0.01:
        return rng.choice((Verdict.ERROR, Verdict.INVALID, Verdict.TIMEOUT))
    if dice < 0.1:
        return rng.choice(MOVES)
    taken = {cell for goose in state.geese for cell in goose}
    head, last = state.geese[seat][0], state.last_moves[seat]
    legal = [
        move
        for move in MOVES
        if state.rules.next_cell[move][head] not in taken and move != OPPOSITE.get(last or "")
    ]
    return rng.choice(legal or MOVES)


def play(
    configuration: Mapping[str, Any], seats: int, seed: int
) -> tuple[list[State], list[Any], list[dict[int, Any]]]:
    """A whole game between careless players: states, chance events, moves."""
    chance, players = Random(seed), Random(f"players {seed}")
    state, drawn = GAME.reset(configuration, seats, chance)
    states, events, moves = [state], [drawn], []
    while GAME.to_move(state):
        moves.append({seat: careless(state, seat, players) for seat in state.active})
        state, drawn = GAME.step(state, moves[-1], chance)
        states.append(state)
        events.append(drawn)
    return states, events, moves


def episode(seed: int, seats: int = 4, **overrides: Any) -> Episode:
    """A recorded game between careless players."""
    configuration = GAME.configure(overrides)
    states, events, moves = play(configuration, seats, seed)
    outcome = GAME.outcome(states[-1])
    assert outcome is not None

    def per_seat(asked: Mapping[int, Any], value: Any) -> tuple[Any, ...]:
        return tuple(value(asked[seat]) if seat in asked else None for seat in range(seats))

    return Episode(
        game=GAME.name,
        version=GAME.version,
        configuration=configuration,
        clock=CLOCK,
        seats=seats,
        chance=events[0],
        steps=tuple(
            Step(
                moves=per_seat(
                    asked, lambda move: {"fault": str(move)} if isinstance(move, Verdict) else move
                ),
                chance=event,
                charged_seconds=per_seat(asked, lambda _: 0.125),
                bank_seconds=per_seat(
                    asked, lambda move: -2.5 if move is Verdict.TIMEOUT else 59.5
                ),
            )
            for asked, event in zip(moves, events[1:], strict=True)
        ),
        placements=outcome.placements,
        rewards=outcome.rewards,
        verdicts=tuple(map(str, outcome.verdicts)),
    )
