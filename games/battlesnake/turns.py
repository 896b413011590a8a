"""Plays one turn: moves, hunger, hazards, feeding, eliminations, then the map's additions.

Stages and their order follow the official rules (BattlesnakeOfficial/rules, standard.go).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import TypeVar

from games.battlesnake.positions import Body, Cause, State
from games.battlesnake.rules import MAX_HEALTH, Rules
from games.battlesnake.spawning import more_food
from games.protocol import GameError, Json, Verdict

T = TypeVar("T")

SIDES = ("left", "right", "bottom", "top")


def play_turn(
    state: State, moves: Mapping[int, Json | Verdict], chance: Random | Json
) -> tuple[State, Json]:
    """The next position and its chance, ``{"food": [[x, y], ...], "shrink": side or null}``.

    Raises GameError for a seat without a move or fault, and for chance that does not fit.
    """
    rules, food, hazards, turn = state.rules, state.food, state.hazards, state.turn + 1
    offsets, wraps = rules.offsets, rules.wraps
    bodies, health = list(state.bodies), list(state.health)
    last_moves, faults = list(state.last_moves), state.faults
    answered = state.answered
    causes, gone = list(state.causes), []
    rests: dict[int, Body] = {}
    eaten: set[int] = set()
    for seat in state.alive:
        move: Json | Verdict = moves.get(seat)
        offset = offsets.get(move)
        if offset is None:
            if not isinstance(move, Verdict) or not move.is_fault:
                raise GameError(f"seat {seat}: needs a move or a fault, got {move!r:.100}")
            offset = offsets[last_moves[seat]]
            faults = _replace_at(faults, seat, None if answered[seat] else move)
        else:
            last_moves[seat] = move
            if not answered[seat]:
                answered = _replace_at(answered, seat, True)
                faults = _replace_at(faults, seat, None)
        body = bodies[seat]
        head = body[0] + offset
        if head in wraps:
            head = wraps[head]
        body = (head, *body[:-1])
        left = health[seat] - 1
        if head in hazards and head not in food:
            for _ in range(hazards.count(head)):
                left = min(MAX_HEALTH, max(0, left - rules.damage))
                if left == 0:
                    causes[seat] = Cause.HAZARD
                    break
        if head in food and causes[seat] is None:
            eaten.add(head)
            left = MAX_HEALTH
            body += body[-1:] * food.count(head)
        bodies[seat], health[seat] = body, left
        if causes[seat] is None:
            if left <= 0:
                causes[seat] = Cause.OUT_OF_HEALTH
            elif head in rules.outside:
                causes[seat] = Cause.WALL
        if causes[seat] is None:
            rests[seat] = body[1:]
        else:
            gone.append(seat)
    # Computed here: snakes removed above block nobody, and snakes removed below still block.
    hit = {seat: cause for seat in rests if (cause := _collision(seat, bodies, rests))}
    for seat, cause in hit.items():
        causes[seat] = cause
    gone += hit
    alive, eliminated_on = state.alive, state.eliminated_on
    if gone:
        alive = tuple(seat for seat in alive if seat not in gone)
        for seat in gone:
            eliminated_on = _replace_at(eliminated_on, seat, turn)
    if eaten:
        food = tuple(cell for cell in food if cell not in eaten)
    if rules.constrictor:
        bodies, health, food = double_tails(bodies), [MAX_HEALTH] * len(bodies), ()

    drawn: list[int] = []
    if rules.spawns:
        drawn = more_food(rules, food, (bodies[seat] for seat in alive), chance)
        food = (*food, *drawn)
    elif not isinstance(chance, Random) and chance["food"]:
        raise GameError(f"food: this map has none, given {chance['food']!r:.100}")
    shrink, calm = _shrink_board(rules, turn, state.calm, chance)
    if shrink:
        hazards = _hazard_cells(rules, calm)
    after = State(
        rules,
        state.names,
        turn,
        tuple(bodies),
        tuple(health),
        alive,
        tuple(causes),
        eliminated_on,
        food,
        hazards,
        calm,
        tuple(last_moves),
        faults,
        answered,
    )
    return after, {"food": [list(rules.xy[cell]) for cell in drawn], "shrink": shrink}


def double_tails(bodies: Sequence[Body]) -> list[Body]:
    """Double the tail of every snake, dead or alive, so that it grows next turn."""
    return [body if body[-1:] == body[-2:-1] else body + body[-1:] for body in bodies]


def _collision(seat: int, bodies: Sequence[Body], rests: Mapping[int, Body]) -> Cause | None:
    """What a seat's head hit, among the snakes still on the board in this turn."""
    body = bodies[seat]
    head = body[0]
    met = None
    for other, rest in rests.items():
        if head in rest:
            if other == seat:
                return Cause.SELF
            met = Cause.BODY
        elif (
            met is None
            and bodies[other][0] == head
            and other != seat
            and len(body) <= len(bodies[other])
        ):
            met = Cause.HEAD
    return met


def _shrink_board(
    rules: Rules, turn: int, calm: tuple[int, int, int, int], chance: Random | Json
) -> tuple[str | None, tuple[int, int, int, int]]:
    """The side that hazards take now, if any, and the rectangle that remains."""
    due = rules.shrink_every > 0 and turn % rules.shrink_every == 0
    if isinstance(chance, Random):
        side = chance.choice(SIDES) if due else None
    else:
        side = chance["shrink"]
        if (side is not None) != due or (due and side not in SIDES):
            raise GameError(f"shrink: turn {turn} takes a side: {due}, given {side!r:.100}")
    if side is None:
        return None, calm
    left, right, bottom, top = calm
    return side, (
        left + (side == "left"),
        right - (side == "right"),
        bottom + (side == "bottom"),
        top - (side == "top"),
    )


def _hazard_cells(rules: Rules, calm: tuple[int, int, int, int]) -> tuple[int, ...]:
    left, right, bottom, top = calm
    return tuple(
        rules.cell(x, y)
        for x in range(rules.width)
        for y in range(rules.height)
        if not (left <= x <= right and bottom <= y <= top)
    )


def _replace_at(values: tuple[T, ...], place: int, value: T) -> tuple[T, ...]:
    return (*values[:place], value, *values[place + 1 :])
