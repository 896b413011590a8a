"""Scripted players for Hungry Geese, and a counter of the rules that each step uses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from games.hungry_geese import MOVES, OPPOSITE, Ending, State
from tests.integration.kaggle_peer import Answer, DeadlineExceeded

NONSENSE: tuple[Any, ...] = (
    "north", "UP", "", "ERROR", "ACTIVE", " NORTH", 0, 1, True, False, 2.5, [], ["NORTH"], {},
    {"action": "NORTH"}, "NORTH\n",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Temper:
    """How a player plays: chances for each move; the remaining moves are careful and legal."""

    wild: float = 0.0
    """The chance of any of the four moves."""
    greedy: float = 0.3
    """The chance to take food next to the head."""
    fails: float = 0.0
    """The chance of ERROR, INVALID or TIMEOUT."""
    silent: float = 0.0
    """The chance to answer None."""
    bold: float = 0.0
    """The chance to enter cells that other heads can reach, and tails that are about to leave."""


def answer(state: State, seat: int, temper: Temper, rng: Random) -> Answer:
    """The answer of this player; it depends only on the arguments."""
    dice = rng.random()
    if dice < temper.fails:
        kind = rng.randrange(3)
        return (RuntimeError("crash"), rng.choice(NONSENSE), DeadlineExceeded())[kind]
    if rng.random() < temper.silent:
        return None
    if rng.random() < temper.wild:
        return rng.choice(MOVES)
    return _legal(state, seat, temper, rng)


def _legal(state: State, seat: int, temper: Temper, rng: Random) -> str:
    next_cell = state.rules.next_cell
    head = state.geese[seat][0]
    last = state.last_moves[seat]
    is_bold = rng.random() < temper.bold
    taken = {cell for goose in state.geese for cell in (goose[:-1] if is_bold else goose)}
    options = [
        move
        for move in MOVES
        if next_cell[move][head] not in taken and (last is None or OPPOSITE[last] != move)
    ]
    reach = {
        next_cell[move][goose[0]]
        for other, goose in enumerate(state.geese)
        if goose and other != seat
        for move in MOVES
    }
    safe = [move for move in options if next_cell[move][head] not in reach]
    choices = options if is_bold else safe or options
    tasty = [move for move in choices if next_cell[move][head] in state.food]
    if tasty and rng.random() < temper.greedy:
        choices = tasty
    return rng.choice(choices or MOVES)


RULES = (
    "moves over an edge", "first move against the default", "eats", "tail dropped",
    "reversal", "reversal of length 1", "reversal by answering None", "None is NORTH",
    "bites itself", "collision with a body",
    "collision of heads", "contested food", "a removed goose still blocks",
    "a goose out before the count does not block", "geese of length 1 swap cells",
    "enters the cell a tail leaves", "tail of an eater stays and kills", "length capped",
    "hunger shortens", "starves", "food topped up", "no room for all food",
    "candidates not in ascending order", "dies in step 1, paid 0", "keeps the pay of the last step",
    "sole survivor", "several survive the last step", "all die in one step", "ends in a tie",
    "one player", "ERROR", "INVALID", "TIMEOUT", "a failed goose, the others go on",
)  # fmt: skip
"""Each rule of the game that the conformance test must have used."""


def rules_used(
    before: State, moves: Mapping[int, Any], answers: Mapping[int, Answer], after: State
) -> Counter[str]:
    """The rules that this step used."""
    used: Counter[str] = Counter()
    rules = before.rules
    step = after.step
    ended = {
        seat: after.endings[seat]
        for seat in before.active
        if before.endings[seat] != after.endings[seat]
    }
    heads = {
        seat: rules.next_cell[moves[seat]][before.geese[seat][0]]
        for seat in before.active
        if moves[seat] in rules.next_cell
    }
    bodies_before = {cell: seat for seat, goose in enumerate(before.geese) for cell in goose}
    for seat in before.active:
        old, new, ending = before.geese[seat], after.geese[seat], ended.get(seat)
        move = moves[seat]
        if answers[seat] is None:
            used["None is NORTH"] += 1
            used["reversal by answering None"] += ending is Ending.REVERSED
        if ending is Ending.FAILED:
            used[str(after.verdicts[seat])] += 1
            used["a failed goose, the others go on"] += bool(after.active)
            continue
        if ending is Ending.REVERSED:
            used["reversal"] += 1
            used["reversal of length 1"] += len(old) == 1
            continue
        head = heads[seat]
        used["first move against the default"] += step == 1 and move == "SOUTH" and bool(new)
        used["moves over an edge"] += abs(head - old[0]) not in (1, _columns(rules.next_cell))
        ate = head in before.food
        used["eats"] += ate and bool(new)
        used["tail dropped"] += not ate and bool(new) and len(new) == len(old)
        contenders = [other for other in heads if heads[other] == head]
        used["contested food"] += ate and len(contenders) > 1 and seat == contenders[0]
        if ending is Ending.BIT_ITSELF:
            used["bites itself"] += 1
        elif ending is Ending.STARVED:
            used["starves"] += 1
        elif ending is Ending.COLLIDED:
            used["collision of heads"] += len(contenders) > 1
            used["collision with a body"] += len(contenders) == 1
            victim = bodies_before.get(head)
            if victim is not None and len(contenders) == 1:
                used["a removed goose still blocks"] += ended.get(victim) is Ending.COLLIDED
                used["tail of an eater stays and kills"] += (
                    victim != seat
                    and head == before.geese[victim][-1]
                    and heads.get(victim) in before.food
                )
        used["length capped"] += ate and bool(new) and len(new) == len(old) == rules.max_length
        hungry = step % rules.hunger_rate == 0
        used["hunger shortens"] += hungry and bool(new) and len(new) == len(old) - 1
        if ending in (Ending.BIT_ITSELF, Ending.STARVED, Ending.COLLIDED):
            used["dies in step 1, paid 0"] += step == 1 and after.rewards[seat] == 0
            used["keeps the pay of the last step"] += (
                step > 1 and after.rewards[seat] == before.rewards[seat] != 0
            )
        if new:
            owner = bodies_before.get(head)
            if owner is not None and owner != seat:
                gone = ended.get(owner)
                used["a goose out before the count does not block"] += gone in (
                    Ending.FAILED, Ending.REVERSED, Ending.BIT_ITSELF,
                )  # fmt: skip
                used["enters the cell a tail leaves"] += (
                    bool(after.geese[owner]) and before.geese[owner][-1] == head
                )
                used["geese of length 1 swap cells"] += (
                    len(before.geese[owner]) == 1 and heads.get(owner) == old[0] and len(old) == 1
                )
    used += _food_used(before, after, heads)
    if not after.active:
        used += _end_used(after)
    return +used


def _columns(next_cell: Mapping[str, Any]) -> int:
    columns: int = next_cell["SOUTH"][0]
    return columns


def _food_used(before: State, after: State, heads: Mapping[int, int]) -> Counter[str]:
    used: Counter[str] = Counter()
    left = [cell for cell in before.food if cell not in heads.values()]
    missing = before.rules.min_food - len(left)
    free = before.rules.board.difference({c for g in after.geese for c in g}).difference(left)
    if missing > 0:
        used["food topped up"] += 1
        used["no room for all food"] += len(free) < missing
        used["candidates not in ascending order"] += list(free) != sorted(free)
    return used


def _end_used(after: State) -> Counter[str]:
    used: Counter[str] = Counter()
    survivors = after.endings.count(Ending.SURVIVED)
    is_last = after.step >= after.rules.episode_steps - 1
    used["sole survivor"] += survivors == 1 and not is_last
    used["several survive the last step"] += survivors > 1
    used["all die in one step"] += survivors == 0
    used["one player"] += len(after.geese) == 1
    paid = [pay for pay in after.rewards if pay is not None]
    used["ends in a tie"] += len(paid) > 1 and paid.count(max(paid)) > 1
    return used
