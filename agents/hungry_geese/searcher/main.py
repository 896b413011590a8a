"""Monte Carlo tree search with simultaneous moves, for as long as the budget allows.

In each node every goose picks its move by its own UCB (decoupled UCT). The value of a leaf depends
on the cells each goose reaches first, on length and on survival. BUDGET_SECONDS is the time for a
move; set it to 0.9 to use Kaggle's whole second. It needs no libraries.
"""

import math
import random
import time

BUDGET_SECONDS = 0.03
EXPLORATION = 0.6
DEPTH = 12
NEAR = 5

STEPS = ((-1, 0), (0, 1), (1, 0), (0, -1))
NAMES = ("NORTH", "EAST", "SOUTH", "WEST")
last_move = None
neighbours = []
settings = {}
focus = set()


def prepare(configuration):
    rows, columns = configuration["rows"], configuration["columns"]
    neighbours[:] = [
        [
            (cell // columns + down) % rows * columns + (cell % columns + right) % columns
            for down, right in STEPS
        ]
        for cell in range(rows * columns)
    ]
    settings.update(configuration)


def distance(one, other):
    rows, columns = settings["rows"], settings["columns"]
    down, right = abs(one // columns - other // columns), abs(one % columns - other % columns)
    return min(down, rows - down) + min(right, columns - right)


def options(geese, headings, seat):
    """Moves without reversal and not into a body that stays; some move if there is none."""
    body = geese[seat]
    walls = {cell for goose in geese for cell in goose[:-1]}
    heading = headings[seat]
    near = neighbours[body[0]]
    good = [
        move
        for move in range(4)
        if near[move] not in walls and (heading is None or move != (heading + 2) % 4)
    ]
    return good or [move for move in range(4) if heading is None or move != (heading + 2) % 4]


def advance(geese, food, headings, moves, step):
    """The board after a step by the rules of the game, without new food."""
    geese, headings, food = list(geese), list(headings), set(food)
    is_hungry = step % settings["hunger_rate"] == 0
    for seat, move in moves.items():
        body = geese[seat]
        head = neighbours[body[0]][move]
        if head in food:
            food.discard(head)
        else:
            body = body[:-1]
        body = () if head in body else (head, *body[: settings["max_length"] - 1])
        geese[seat] = body[:-1] if is_hungry else body
        headings[seat] = move
    counts = {}
    for goose in geese:
        for cell in goose:
            counts[cell] = counts.get(cell, 0) + 1
    geese = [goose if goose and counts[goose[0]] == 1 else () for goose in geese]
    return geese, food, headings


def judge(geese, food, died, now):
    """The value of the position for each goose, 0 to 1; for dead geese by their time of death."""
    alive = [seat for seat, goose in enumerate(geese) if goose]
    values = [0.0] * len(geese)
    for seat, when in died.items():
        values[seat] = 0.15 * (when - now) / DEPTH
    if not alive:
        return values
    free_from = {cell: len(goose) - place for goose in geese for place, cell in enumerate(goose)}
    owner, reach, pull = {}, [0.0] * len(geese), [0.0] * len(geese)
    # Longer geese come first, because they win a cell that two reach at once.
    frontier = sorted(((geese[seat][0], seat) for seat in alive), key=lambda x: -len(geese[x[1]]))
    for cell, seat in frontier:
        owner[cell] = seat
    moves = 0
    while frontier:
        moves += 1
        following = []
        for cell, seat in frontier:
            for near in neighbours[cell]:
                if near not in owner and free_from.get(near, 0) <= moves:
                    owner[near] = seat
                    reach[seat] += 1.0
                    if near in food:
                        pull[seat] = max(pull[seat], 0.85**moves)
                    following.append((near, seat))
        frontier = following
    total = sum(reach) or 1.0
    lengths = [len(goose) for goose in geese]
    longest = max(lengths)
    for seat in alive:
        length = lengths[seat]
        shorter = sum(1 for other in alive if lengths[other] < length)
        # Length finally ranks the survivors, so it counts as much as room.
        values[seat] = (
            0.2
            + 0.15 * min(1.0, (reach[seat] + 1) / (length + 1))
            + 0.15 * reach[seat] / total
            + 0.25 * length / longest
            + 0.06 * pull[seat]
            + 0.10 * shorter / max(1, len(alive) - 1)
            + 0.15 / len(alive)
        )
    return values


class Node:
    """The statistics of one position: for each goose its moves, visits and sums of values.

    Distant geese get one random move, so that the tree grows deep where it matters.
    """

    __slots__ = ("children", "choices", "sums", "total", "visits")

    def __init__(self, geese, headings):
        self.choices = {
            seat: options(geese, headings, seat) for seat, goose in enumerate(geese) if goose
        }
        for seat, moves in self.choices.items():
            if seat not in focus:
                self.choices[seat] = [random.choice(moves)]
        self.visits = {seat: [0] * len(moves) for seat, moves in self.choices.items()}
        self.sums = {seat: [0.0] * len(moves) for seat, moves in self.choices.items()}
        self.total = 0
        self.children = {}

    def pick(self):
        """For each goose, the index of the move with the highest UCB."""
        picked = {}
        log = math.log(self.total + 1)
        for seat, visits in self.visits.items():
            sums = self.sums[seat]
            best, best_value = 0, -1.0
            for index, count in enumerate(visits):
                if not count:
                    best = index
                    break
                value = sums[index] / count + EXPLORATION * math.sqrt(log / count)
                if value > best_value:
                    best, best_value = index, value
            picked[seat] = best
        return picked


def simulate(root, geese, food, headings, step):
    """Descend the tree to a new node, then add its value to all nodes on the path."""
    node, path, died, now = root, [], {}, step
    while True:
        picked = node.pick()
        path.append((node, picked))
        moves = {seat: node.choices[seat][index] for seat, index in picked.items()}
        step += 1
        before = geese
        geese, food, headings = advance(geese, food, headings, moves, step)
        for seat, goose in enumerate(before):
            if goose and not geese[seat]:
                died[seat] = step
        alive = sum(1 for goose in geese if goose)
        key = tuple(moves.values())
        child = node.children.get(key)
        if child is None or alive <= 1 or step - now >= DEPTH:
            if child is None and alive > 1:
                node.children[key] = Node(geese, headings)
            break
        node = child
    values = judge(geese, food, died, now)
    for node, picked in path:
        node.total += 1
        for seat, index in picked.items():
            node.visits[seat][index] += 1
            node.sums[seat][index] += values[seat]


def agent(observation, configuration):
    """The most visited move when the budget is spent."""
    global last_move
    until = time.perf_counter() + BUDGET_SECONDS
    if (
        observation["step"] == 0
        or len(neighbours) != configuration["rows"] * configuration["columns"]
    ):
        last_move = None
        prepare(configuration)
    seat = observation["index"]
    geese = [tuple(goose) for goose in observation["geese"]]
    headings = [None] * len(geese)
    for other, goose in enumerate(geese):
        if len(goose) > 1:
            headings[other] = (neighbours[goose[0]].index(goose[1]) + 2) % 4
    headings[seat] = last_move
    focus.clear()
    focus.update(
        other
        for other, goose in enumerate(geese)
        if goose and distance(goose[0], geese[seat][0]) <= NEAR
    )
    root = Node(geese, headings)
    if len(root.choices[seat]) > 1:
        while time.perf_counter() < until:
            simulate(root, geese, set(observation["food"]), headings, observation["step"])
    visits = root.visits[seat]
    last_move = root.choices[seat][visits.index(max(visits))]
    return NAMES[last_move]
