"""A second implementation of Battlesnake: plain, slow, and written without the first.

It works on frames: ``{"turn", "width", "height", "snakes": [{"body", "health", "cause",
"eliminated_on"}], "food", "hazards"}``. Cells are ``[x, y]`` from the bottom left, and bodies are
head first.

A map draws its additions at random, so they are arguments of ``after``. The ``…_fits`` functions
check whether a map could have drawn them. They return a sentence for an impossible draw, or None.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

Frame = dict[str, Any]
Cell = tuple[int, int]

MOVES = {"up": (0, 1), "down": (0, -1), "left": (-1, 0), "right": (1, 0)}
FULL_HEALTH = 100
START_LENGTH = 3


@dataclass(frozen=True)
class Rules:
    """The settings that a turn depends on."""

    ruleset: str = "standard"
    damage: int = 14
    minimum_food: int = 1
    food_chance: int = 15
    shrink_every: int = 25

    @property
    def wraps(self) -> bool:
        return self.ruleset.startswith("wrapped")

    @property
    def constricts(self) -> bool:
        return self.ruleset.endswith("constrictor")


def over(frame: Frame, rules: Rules) -> bool:
    """Whether the game is over: at most one snake is left, or none after a game alone."""
    alone = rules.ruleset == "solo" or len(frame["snakes"]) == 1
    return len(living(frame)) <= (0 if alone else 1)


def living(frame: Frame) -> list[int]:
    return [seat for seat, snake in enumerate(frame["snakes"]) if snake["cause"] is None]


def after(
    before: Frame,
    moves: Mapping[int, str],
    rules: Rules,
    food: list[list[int]],
    hazards: list[list[int]] | None,
) -> Frame:
    """The frame a turn later.

    ``food`` is the map's new food; ``hazards`` are all hazards then (None: unchanged).
    """
    frame = ruled(before, moves, rules)
    frame["food"] = frame["food"] + deepcopy(food)
    if hazards is not None:
        frame["hazards"] = deepcopy(hazards)
    frame["turn"] = before["turn"] + 1
    return frame


def ruled(before: Frame, moves: Mapping[int, str], rules: Rules) -> Frame:
    """The frame after the ruleset's stages, before the map and the turn's number."""
    frame = deepcopy(before)
    if over(frame, rules):
        return frame
    _move(frame, moves, rules)
    _starve(frame)
    _burn(frame, rules)
    _feed(frame)
    _eliminate(frame)
    if rules.constricts:
        constrict(frame)
    return frame


def constrict(frame: Frame) -> None:
    """Remove food and give every snake full health and a stacked tail, dead snakes too."""
    frame["food"] = []
    for snake in frame["snakes"]:
        snake["health"] = FULL_HEALTH
        if snake["body"][-1] != snake["body"][-2]:
            snake["body"].append(list(snake["body"][-1]))


def heading(snake: Mapping[str, Any], width: int, height: int) -> str:
    """A snake continues in its last direction; up, if it never moved."""
    body = snake["body"]
    if len(body) < 2 or body[0] == body[1]:
        return "up"
    for word, (right, up) in MOVES.items():
        if [body[1][0] + right, body[1][1] + up] == body[0]:
            return word
    for word, (right, up) in MOVES.items():
        if [(body[1][0] + right) % width, (body[1][1] + up) % height] == body[0]:
            return word
    raise AssertionError(f"a head that is not beside its neck: {body}")


def _move(frame: Frame, moves: Mapping[int, str], rules: Rules) -> None:
    width, height = frame["width"], frame["height"]
    for seat in living(frame):
        snake = frame["snakes"][seat]
        word = moves[seat]
        if word not in MOVES:
            word = heading(snake, width, height)
        x, y = snake["body"][0]
        x, y = x + MOVES[word][0], y + MOVES[word][1]
        if rules.wraps:
            x, y = x % width, y % height
        snake["body"] = [[x, y], *snake["body"][:-1]]


def _starve(frame: Frame) -> None:
    for seat in living(frame):
        frame["snakes"][seat]["health"] -= 1


def _burn(frame: Frame, rules: Rules) -> None:
    for seat in living(frame):
        snake = frame["snakes"][seat]
        head = snake["body"][0]
        if head in frame["food"]:
            continue
        for hazard in frame["hazards"]:
            if hazard == head and snake["cause"] is None:
                snake["health"] = min(FULL_HEALTH, max(0, snake["health"] - rules.damage))
                if snake["health"] == 0:
                    _end(frame, seat, "hazard")


def _feed(frame: Frame) -> None:
    left = []
    for food in frame["food"]:
        eaten = False
        for seat in living(frame):
            snake = frame["snakes"][seat]
            if snake["body"][0] == food:
                eaten = True
                snake["health"] = FULL_HEALTH
                snake["body"].append(list(snake["body"][-1]))
        if not eaten:
            left.append(food)
    frame["food"] = left


def _eliminate(frame: Frame) -> None:
    snakes = frame["snakes"]
    for seat in living(frame):
        if snakes[seat]["health"] <= 0:
            _end(frame, seat, "out-of-health")
        elif any(not _on_board(frame, cell) for cell in snakes[seat]["body"]):
            _end(frame, seat, "wall-collision")
    left = living(frame)
    causes = {}
    for seat in left:
        head, own = snakes[seat]["body"][0], snakes[seat]["body"]
        others = [snakes[other]["body"] for other in left if other != seat]
        if head in own[1:]:
            causes[seat] = "snake-self-collision"
        elif any(head in body[1:] for body in others):
            causes[seat] = "snake-collision"
        elif any(head == body[0] and len(own) <= len(body) for body in others):
            causes[seat] = "head-collision"
    for seat, cause in causes.items():
        _end(frame, seat, cause)


def _end(frame: Frame, seat: int, cause: str) -> None:
    frame["snakes"][seat]["cause"] = cause
    frame["snakes"][seat]["eliminated_on"] = frame["turn"] + 1


def _on_board(frame: Frame, cell: list[int]) -> bool:
    x, y = _cell(cell)
    inside: bool = 0 <= x < frame["width"] and 0 <= y < frame["height"]
    return inside


def places(frame: Frame) -> list[int]:
    """Places: 1 for a survivor, then by the turn of the end, latest first; equal turns tie."""
    lasted = [
        float("inf") if snake["cause"] is None else snake["eliminated_on"]
        for snake in frame["snakes"]
    ]
    return [1 + sum(other > mine for other in lasted) for mine in lasted]


def start_fits(frame: Frame, rules: Rules) -> str | None:
    """Whether a game can start like this."""
    width, height, snakes = frame["width"], frame["height"], frame["snakes"]
    heads = [_cell(snake["body"][0]) for snake in snakes]
    length = START_LENGTH
    for snake in snakes:
        if [_cell(cell) for cell in snake["body"]] != [_cell(snake["body"][0])] * length:
            return f"a snake starts as {length} cells on each other, not as {snake['body']}"
        if snake["health"] != FULL_HEALTH or snake["cause"] is not None:
            return f"a snake starts in health and alive, not as {snake}"
    if len(set(heads)) != len(heads):
        return f"two snakes start on one cell: {heads}"
    if width == height and width >= 7 and len(heads) <= 8:
        low, middle, high = 1, (width - 1) // 2, width - 2
        corners = {(x, y) for x in (low, high) for y in (low, high)}
        sides = {(low, middle), (middle, low), (middle, high), (high, middle)}
        first, second = set(heads[:4]), set(heads[4:])
        if not ((first <= corners and second <= sides) or (first <= sides and second <= corners)):
            return f"four start in the corners or at the sides, then the others: {heads}"
    elif not (width == height and width >= 11):
        odd = [head for head in heads if sum(head) % 2]
        if odd:
            return f"start cells have an even sum, these have not: {odd}"
        if _centre(frame) in heads:
            return "nobody starts in the centre"
    return None


def first_food_fits(frame: Frame, rules: Rules) -> str | None:
    """Whether the standard map can place its first food like this."""
    width, height = frame["width"], frame["height"]
    heads = [_cell(snake["body"][0]) for snake in frame["snakes"]]
    food = [_cell(cell) for cell in frame["food"]]
    centre = _centre(frame)
    if rules.constricts:
        return f"constrictors find no food, not {food}" if food else None
    if len(set(food)) != len(food) or set(food) & set(heads):
        return f"first food lies on free cells of their own: {food}"
    if width != height or width < 7:
        free = _roomy({**frame, "food": []})
        wanted = min(len(heads), len(free))
        fits = len(food) == wanted and set(food) <= free
        return None if fits else f"{wanted} foods away from heads are due: {food}"
    if centre not in food:
        return f"the centre has food: {food}"
    near = [cell for cell in food if cell != centre]
    if width < 11 and len(heads) > 4:
        return None if not near else f"only the centre has food: {food}"
    if len(near) != len(heads):
        return f"one food for each snake, and the centre: {food}"
    if any(
        all(_is_near(head, cell, frame) for head, cell in zip(heads, order, strict=True))
        for order in _matchings(near, heads, frame)
    ):
        return None
    return f"each snake has a food beside it, away from the centre: {heads}, {near}"


def _matchings(near: list[Cell], heads: list[Cell], frame: Frame) -> Any:
    """Ways to assign one food to each head; snakes stand apart, so that few foods fit a head."""
    choices = [[cell for cell in near if _is_near(head, cell, frame)] for head in heads]
    return (order for order in itertools.product(*choices) if len(set(order)) == len(order))


def _is_near(head: Cell, cell: Cell, frame: Frame) -> bool:
    width, height = frame["width"], frame["height"]
    centre = _centre(frame)
    if abs(head[0] - cell[0]) != 1 or abs(head[1] - cell[1]) != 1:
        return False
    if cell in [(x, y) for x in (0, width - 1) for y in (0, height - 1)]:
        return False
    return any(abs(cell[axis] - centre[axis]) > abs(head[axis] - centre[axis]) for axis in (0, 1))


def food_fits(ruled_frame: Frame, added: list[list[int]], rules: Rules) -> str | None:
    """Whether the standard map can add this food after the rules."""
    free = _roomy(ruled_frame)
    cells = [_cell(cell) for cell in added]
    if len(set(cells)) != len(cells) or not set(cells) <= free:
        return f"new food lies on free cells, away from heads: {cells}"
    missing = rules.minimum_food - len(ruled_frame["food"])
    if missing > 0:
        wanted = min(missing, len(free))
        return None if len(cells) == wanted else f"{wanted} foods are due, not {cells}"
    # A chance of 1 in 100 never applies: 100 less 0..99 is never below 1.
    most = 1 if rules.food_chance > 1 else 0
    return None if len(cells) <= most else f"at most {most} food comes by chance, not {cells}"


def _roomy(frame: Frame) -> set[Cell]:
    """Cells without food or a live body, and not next to a live head."""
    taken = {_cell(cell) for cell in frame["food"]}
    for seat in living(frame):
        body = [_cell(cell) for cell in frame["snakes"][seat]["body"]]
        taken.update(body)
        taken.update((body[0][0] + right, body[0][1] + up) for right, up in MOVES.values())
    return set(itertools.product(range(frame["width"]), range(frame["height"]))) - taken


def royale_fits(frame: Frame, rules: Rules) -> str | None:
    """Whether the hazards are all cells outside a rectangle that shrinks once every N turns."""
    width, height = frame["width"], frame["height"]
    hazards = [_cell(cell) for cell in frame["hazards"]]
    if len(set(hazards)) != len(hazards):
        return "no cell is a hazard twice"
    shrinks = frame["turn"] // rules.shrink_every
    cells = list(itertools.product(range(width), range(height)))
    safe = set(cells) - set(hazards)
    if not safe:
        return None if shrinks >= min(width, height) else f"all is hazard after {shrinks} shrinks"
    left, right = min(x for x, _ in safe), max(x for x, _ in safe)
    low, high = min(y for _, y in safe), max(y for _, y in safe)
    inside = {(x, y) for x, y in cells if left <= x <= right and low <= y <= high}
    if inside != safe:
        return f"the safe cells are no rectangle: {sorted(safe)}"
    taken = left + (width - 1 - right) + low + (height - 1 - high)
    return None if taken == shrinks else f"{shrinks} sides are taken by now, not {taken}"


def _centre(frame: Frame) -> Cell:
    return (frame["width"] - 1) // 2, (frame["height"] - 1) // 2


def _cell(cell: list[int]) -> Cell:
    return cell[0], cell[1]
