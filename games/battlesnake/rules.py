"""The configuration of Battlesnake, a position, the start and the turn.

A cell is a number. The board has a ring of one cell around it, so a head outside the board still
has a cell. ``Rules.xy`` gives coordinates, with the origin at the bottom left and y upwards.

Snakes and food start from a generator, or as a recorded game has them. A turn is moves, hunger,
hazards, feeding, eliminations, then the map's additions. Stages and their order follow the official
rules (BattlesnakeOfficial/rules, standard.go).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from random import Random
from typing import NamedTuple, TypeVar

from games.protocol import (
    ConfigurationError,
    ConfigurationField,
    GameError,
    Json,
    Verdict,
    configure,
)

Body = tuple[int, ...]


class Cause(StrEnum):
    """Why a snake is out, in the terms of the official rules."""

    OUT_OF_HEALTH = "out-of-health"
    """The snake starved."""
    HAZARD = "hazard"
    """The snake lost its last health to a hazard."""
    WALL = "wall-collision"
    """The snake's head left the board."""
    SELF = "snake-self-collision"
    """The snake's head entered its own body."""
    BODY = "snake-collision"
    """The snake's head entered another snake's body."""
    HEAD = "head-collision"
    """The snake met the head of a snake that was not shorter."""


class Names(NamedTuple):
    """Ids of a match and its snakes, new for each match."""

    game: str
    snakes: tuple[str, ...]


class State(NamedTuple):
    """A position. Tuples are indexed by seat, but ``alive`` lists the seats still playing."""

    rules: Rules
    names: Names
    turn: int
    bodies: tuple[Body, ...]
    """Cells of each snake, head first. A dead snake keeps its last cells."""
    health: tuple[int, ...]
    alive: tuple[int, ...]
    causes: tuple[Cause | None, ...]
    eliminated_on: tuple[int | None, ...]
    food: tuple[int, ...]
    hazards: tuple[int, ...]
    """Cells of the hazards. Stacked hazards appear once for each layer."""
    calm: tuple[int, int, int, int]
    """The rectangle that no shrink has reached: left, right, bottom, top, all included."""
    last_moves: tuple[str, ...]
    faults: tuple[Verdict | None, ...]
    """The last fault of a seat that has never given a valid answer."""
    answered: tuple[bool, ...]
    """Whether a seat has ever given a valid answer."""

    @property
    def over(self) -> bool:
        """Whether no opponent is left, no snake is left, or the last turn came."""
        needed = 1 if self.rules.solo or len(self.bodies) == 1 else 2
        return len(self.alive) < needed or self.turn >= self.rules.max_turns


MOVES = ("up", "down", "left", "right")
MAX_HEALTH = 100
START_LENGTH = 3
MAX_SIDE = 50
"""Our own limit. The largest board in play anywhere has 25."""

RULESETS = ("standard", "solo", "royale", "wrapped", "constrictor", "wrapped_constrictor")
MAPS = ("standard", "empty", "royale")
FIELDS = (
    ConfigurationField("width", int, 11, 3),
    ConfigurationField("height", int, 11, 3),
    ConfigurationField("foodSpawnChance", int, 15, 0),
    ConfigurationField("minimumFood", int, 1, 0),
    ConfigurationField("hazardDamagePerTurn", int, 14, -MAX_HEALTH),
    ConfigurationField("shrinkEveryNTurns", int, 25, 1),
    ConfigurationField("maxTurns", int, 800, 1),
    ConfigurationField("timeout", int, 500, 1),
)
HIGHEST = {"width": MAX_SIDE, "height": MAX_SIDE, "foodSpawnChance": 100}


@dataclass(frozen=True, slots=True, eq=False)
class Rules:
    """One configuration with its constants. Equal configurations give the same object."""

    configuration: Mapping[str, Json]
    width: int
    height: int
    offsets: Mapping[str, int]
    """Number that a move adds to a head's cell."""
    wraps: Mapping[int, int]
    """Cell that a head enters after leaving a wrapped board. Empty on other boards."""
    cells: tuple[int, ...]
    xy: tuple[tuple[int, int], ...]
    """Coordinates of each cell, including the ring."""
    outside: frozenset[int]
    """The cells of the ring."""
    solo: bool
    """Whether the game goes on until the last snake dies. Otherwise it ends with one survivor."""
    constrictor: bool
    damage: int
    spawn_share: float
    """Share of turns with additional food."""
    minimum_food: int
    spawns: bool
    """Whether the map adds food at all."""
    shrink_every: int
    """Turns between two shrinks; 0 if nothing shrinks."""
    max_turns: int

    def cell(self, x: int, y: int) -> int:
        return (y + 1) * (self.width + 2) + x + 1


def configure_battlesnake(overrides: Mapping[str, Json]) -> dict[str, Json]:
    """The full configuration. Raises ConfigurationError naming the field.

    Without a named map, a constrictor game has the empty map, every other ruleset the standard one.
    """
    numbers = dict(overrides)
    ruleset = _check_choice("ruleset", numbers.pop("ruleset", None), RULESETS, "standard")
    usual = "empty" if ruleset.endswith("constrictor") else "standard"
    chosen = _check_choice("map", numbers.pop("map", None), MAPS, usual)
    try:
        checked = configure(FIELDS, numbers)
    except ConfigurationError as error:
        if error.field in numbers and error.field not in {field.name for field in FIELDS}:
            names = ", ".join(("ruleset", "map", *(field.name for field in FIELDS)))
            raise ConfigurationError(error.field, f"unknown; there are {names}") from error
        raise
    for name, highest in HIGHEST.items():
        if checked[name] > highest:
            raise ConfigurationError(name, f"must be at most {highest}, got {checked[name]!r}")
    return {"ruleset": ruleset, "map": chosen, **checked}


def _check_choice(field: str, value: Json, options: tuple[str, ...], usual: str) -> str:
    if value is None:
        return usual
    if value not in options:
        raise ConfigurationError(field, f"must be one of {', '.join(options)}, got {value!r:.100}")
    return str(value)


def rules_for(configuration: Mapping[str, Json]) -> Rules:
    return _build_rules(tuple(configuration.items()))


@lru_cache(maxsize=32)
def _build_rules(items: tuple[tuple[str, Json], ...]) -> Rules:
    given = dict(items)
    ruleset, width, height = given["ruleset"], given["width"], given["height"]
    stride = width + 2
    xy = tuple((x - 1, y - 1) for y in range(height + 2) for x in range(stride))
    cells = tuple(cell for cell, (x, y) in enumerate(xy) if 0 <= x < width and 0 <= y < height)
    outside = frozenset(range(len(xy))).difference(cells)
    wraps = {
        cell: (xy[cell][1] % height + 1) * stride + xy[cell][0] % width + 1 for cell in outside
    }
    return Rules(
        configuration=given,
        width=width,
        height=height,
        offsets={"up": stride, "down": -stride, "left": -1, "right": 1},
        wraps=wraps if ruleset.startswith("wrapped") else {},
        cells=cells,
        xy=xy,
        outside=outside,
        solo=ruleset == "solo",
        constrictor=ruleset.endswith("constrictor"),
        damage=given["hazardDamagePerTurn"],
        # The official roll, 100 - (0..99) < chance, succeeds in chance - 1 of 100 cases.
        spawn_share=max(0, given["foodSpawnChance"] - 1) / 100,
        minimum_food=given["minimumFood"],
        spawns=given["map"] != "empty",
        shrink_every=given["shrinkEveryNTurns"] if "royale" in (ruleset, given["map"]) else 0,
        max_turns=given["maxTurns"],
    )


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
