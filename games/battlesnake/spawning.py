"""Places snakes and food: from a generator, or as a recorded game has them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random

from games.battlesnake.rules import Rules
from games.protocol import GameError, Json

SMALL, MEDIUM = 7, 11
"""Board sides from which starts are fixed, and from which up to sixteen snakes have fixed
starts.
"""
CROWD = 8
"""Most snakes with a fixed start."""


def start_positions(rules: Rules, seats: int, chance: Random) -> list[int]:
    """A start cell for each seat. Raises GameError if there is not room for all."""
    width, height = rules.width, rules.height
    if seats > CROWD and max(width, height) < SMALL:
        raise GameError(f"a board of {width}x{height} is for at most {CROWD} snakes", field="seats")
    if width == height and width >= SMALL and seats <= CROWD:
        return _standard_starts(rules, seats, chance)
    if width == height and width >= MEDIUM:
        return _quadrant_starts(rules, seats, chance)
    centre = _centre_cell(rules)
    free = [cell for cell in rules.cells if sum(rules.xy[cell]) % 2 == 0 and cell != centre]
    if len(free) < seats:
        raise GameError(
            f"a board of {width}x{height} has room for {len(free)} snakes", field="seats"
        )
    return chance.sample(free, seats)


def first_food(rules: Rules, heads: Sequence[int], chance: Random) -> list[int]:
    """One food beside each snake, away from the centre, and one at the centre."""
    if rules.width != rules.height or rules.width < SMALL:
        free = free_food_cells(rules, (), [(head,) for head in heads])
        return chance.sample(free, min(len(heads), len(free)))
    food: list[int] = []
    if len(heads) <= 4 or rules.width >= MEDIUM:
        for head in heads:
            taken = {*food, *heads}
            near = [cell for cell in _diagonal_neighbours(rules, head) if cell not in taken]
            if near:
                food.append(chance.choice(near))
    return [*food, _centre_cell(rules)]


def more_food(
    rules: Rules, food: Sequence[int], bodies: Iterable[Sequence[int]], chance: Random | Json
) -> list[int]:
    """Place food at the end of a turn. ``bodies`` are those of the living snakes.

    Raises GameError for recorded food that the rules do not allow.
    """
    missing = rules.minimum_food - len(food)
    if isinstance(chance, Random):
        if missing <= 0 and chance.random() >= rules.spawn_share:
            return []
        free = free_food_cells(rules, food, bodies)
        return chance.sample(free, min(max(1, missing), len(free)))
    given = [cell_of_recorded_point(rules, point) for point in chance["food"]]
    if missing > 0 or given:
        free = free_food_cells(rules, food, bodies)
        wanted = min(max(1, missing), len(free))
        if missing <= 0 and not rules.spawn_share:
            wanted = 0
        if len(set(given)) != len(given) or len(given) != wanted or not set(given) <= set(free):
            raise GameError(
                f"expected {wanted} free cells, given {chance['food']!r:.100}", field="food"
            )
    return given


def free_food_cells(
    rules: Rules, food: Iterable[int], bodies: Iterable[Sequence[int]]
) -> list[int]:
    """Cells for food: no food, no body and not next to a head. Hazards do not matter."""
    taken = set(food)
    for body in bodies:
        taken.update(body)
        taken.update(body[0] + offset for offset in rules.offsets.values())
    return [cell for cell in rules.cells if cell not in taken]


def cell_of_recorded_point(rules: Rules, point: Json) -> int:
    """The cell of recorded coordinates. Raises GameError if they are not on the board."""
    x, y = point
    if not (0 <= x < rules.width and 0 <= y < rules.height):
        raise GameError(f"{point!r:.100} is not on the board")
    return rules.cell(x, y)


def _centre_cell(rules: Rules) -> int:
    return rules.cell((rules.width - 1) // 2, (rules.height - 1) // 2)


def _standard_starts(rules: Rules, seats: int, chance: Random) -> list[int]:
    """Corners and middles of sides, one cell in. A coin decides which come first."""
    low, middle, high = 1, (rules.width - 1) // 2, rules.width - 2
    corners = [rules.cell(x, y) for x in (low, high) for y in (low, high)]
    sides = [(low, middle), (middle, low), (middle, high), (high, middle)]
    middles = [rules.cell(x, y) for x, y in sides]
    chance.shuffle(corners)
    chance.shuffle(middles)
    order = [*corners, *middles] if chance.random() < 0.5 else [*middles, *corners]
    return order[:seats]


def _quadrant_starts(rules: Rules, seats: int, chance: Random) -> list[int]:
    """Four cells in each quarter of the board. The snakes take one quarter after another."""
    half = rules.width // 2
    near, far = half // 3, half - half // 3
    last = rules.width - 1
    quarters = []
    for columns in ((near, far), (last - near, last - far)):
        for rows in ((near, far), (last - near, last - far)):
            quarter = [rules.cell(x, y) for x in columns for y in rows]
            chance.shuffle(quarter)
            quarters.append(quarter)
    first = chance.randrange(len(quarters))
    return [quarters[(first + seat) % len(quarters)].pop() for seat in range(seats)]


def _diagonal_neighbours(rules: Rules, head: int) -> list[int]:
    """Diagonal neighbours that are farther from the centre on some axis and not in a corner."""
    (x, y), last = rules.xy[head], rules.width - 1
    middle = last // 2
    found = []
    for right in (-1, 1):
        for up in (-1, 1):
            outward = right * (x - middle) > 0 or up * (y - middle) > 0
            near = (x + right, y + up)
            on_board = all(0 <= part <= last for part in near)
            if outward and on_board and not all(part in (0, last) for part in near):
                found.append(rules.cell(*near))
    return found
