"""Plays fast simple moves and spends its overage bank on purpose when heads come close.

Most moves take ten milliseconds. A few times a game it thinks for LONG_SECONDS, which is more than
the limit of a second. The rest comes from ``remainingOverageTime``. It stops long before the bank
is empty. The search is plain Monte Carlo: random games from each of its moves. It needs no
libraries.
"""

import random
import time

QUICK_SECONDS = 0.01
LONG_SECONDS = 1.2
LONG_MOVES = 5
REST_STEPS = 12
RESERVE_SECONDS = 20.0
HORIZON = 14

NAMES = ("NORTH", "EAST", "SOUTH", "WEST")
STEPS = ((-1, 0), (0, 1), (1, 0), (0, -1))
memory = {"heading": None, "long_moves": 0, "last_long": -REST_STEPS}
neighbours = []


def prepare(rows, columns):
    memory.update(heading=None, long_moves=0, last_long=-REST_STEPS)
    neighbours[:] = [
        [
            (cell // columns + down) % rows * columns + (cell % columns + right) % columns
            for down, right in STEPS
        ]
        for cell in range(rows * columns)
    ]


def play_out(geese, food, seat, first):
    """The result of ``seat`` in one random game of HORIZON steps after the move ``first``."""
    geese, food = list(geese), set(food)
    for moves in range(HORIZON):
        walls = {cell for goose in geese for cell in goose[:-1]}
        for other, goose in enumerate(geese):
            if not goose:
                continue
            if other == seat and moves == 0:
                head = first
            else:
                near = [cell for cell in neighbours[goose[0]] if cell not in walls]
                bites = [cell for cell in near if cell in food]
                head = random.choice(bites or near or neighbours[goose[0]])
            body = goose if head in food else goose[:-1]
            food.discard(head)
            geese[other] = () if head in body else (head, *body)
        heads = [goose[0] for goose in geese if goose]
        bodies = {cell for goose in geese for cell in goose[1:]}
        geese = [
            goose if goose and goose[0] not in bodies and heads.count(goose[0]) == 1 else ()
            for goose in geese
        ]
        if not geese[seat]:
            return moves / HORIZON * 0.5
    rivals = [len(goose) for other, goose in enumerate(geese) if other != seat and goose]
    return 1.0 + 0.05 * len(geese[seat]) - 0.1 * len(rivals)


def think(geese, food, seat, cells, seconds):
    """The cell with the best mean result over as many random games as the time allows."""
    until = time.perf_counter() + seconds
    sums = dict.fromkeys(cells, 0.0)
    while True:
        for cell in cells:
            sums[cell] += play_out(geese, food, seat, cell)
        if time.perf_counter() >= until:
            return max(sums, key=sums.get)


def agent(observation, configuration):
    """A fast move, or a long search when a rival's head is near and the bank allows it."""
    rows, columns = configuration["rows"], configuration["columns"]
    step, seat = observation["step"], observation["index"]
    if step == 0 or len(neighbours) != rows * columns:
        prepare(rows, columns)
    geese = [tuple(goose) for goose in observation["geese"]]
    near = neighbours[geese[seat][0]]
    walls = {cell for goose in geese for cell in goose[:-1]}
    heading = memory["heading"]
    moves = [
        move
        for move in range(4)
        if near[move] not in walls and (heading is None or move != (heading + 2) % 4)
    ]
    if not moves:
        memory["heading"] = heading or 0
        return NAMES[memory["heading"]]
    around = {far for cell in near for far in neighbours[cell]}
    is_close = any(
        goose and goose[0] in around for other, goose in enumerate(geese) if other != seat
    )
    seconds = QUICK_SECONDS
    if (
        (is_close or step >= 20)
        and len(moves) > 1
        and memory["long_moves"] < LONG_MOVES
        and step - memory["last_long"] >= REST_STEPS
        and observation["remainingOverageTime"] > RESERVE_SECONDS
    ):
        seconds = LONG_SECONDS
        memory["long_moves"] += 1
        memory["last_long"] = step
    cells = [near[move] for move in moves]
    best = think(geese, observation["food"], seat, cells, seconds)
    memory["heading"] = moves[cells.index(best)]
    return NAMES[memory["heading"]]
