"""Stays alive: counts the reachable cells after each move and prefers room.

Three things rate a move: the cells it reaches before rivals do, the risk of meeting a head, and the
distance to food. Food counts less once the goose is clearly the longest. A move takes a few
milliseconds. It needs no libraries.
"""

STEPS = {"NORTH": (-1, 0), "EAST": (0, 1), "SOUTH": (1, 0), "WEST": (0, -1)}
OPPOSITE = {"NORTH": "SOUTH", "SOUTH": "NORTH", "EAST": "WEST", "WEST": "EAST"}

last_move = None
neighbours = {}


def prepare(rows, columns):
    """For each cell its four neighbours, in the order of STEPS."""
    neighbours.clear()
    for cell in range(rows * columns):
        row, column = divmod(cell, columns)
        neighbours[cell] = [
            (row + down) % rows * columns + (column + right) % columns
            for down, right in STEPS.values()
        ]


def distances(starts, walls):
    """Moves from the nearest of ``starts`` to each reachable cell.

    ``walls`` has the move from which each cell is free, because a body leaves cell by cell.
    """
    reached = dict.fromkeys(starts, 0)
    frontier, moves = list(starts), 0
    while frontier:
        moves += 1
        following = []
        for cell in frontier:
            for near in neighbours[cell]:
                if near not in reached and walls.get(near, 0) <= moves:
                    reached[near] = moves
                    following.append(near)
        frontier = following
    return reached


def agent(observation, configuration):
    """The move with the highest rating."""
    global last_move
    rows, columns = configuration["rows"], configuration["columns"]
    if observation["step"] == 0 or len(neighbours) != rows * columns:
        last_move = None
        prepare(rows, columns)
    geese, food, index = observation["geese"], observation["food"], observation["index"]
    mine = geese[index]
    rivals = [goose for seat, goose in enumerate(geese) if goose and seat != index]
    walls = {cell: len(goose) - place for goose in geese for place, cell in enumerate(goose)}
    for goose in rivals:
        if any(near in food for near in neighbours[goose[0]]):
            walls[goose[-1]] = 2  # it may eat, and then its tail stays
    theirs = distances([goose[0] for goose in rivals], walls)
    longest = max((len(goose) for goose in rivals), default=0)
    strikes = {near: goose for goose in rivals for near in neighbours[goose[0]]}
    to_food = distances(food, walls)
    # A goose that leads by more than two cells stops chasing food.
    appetite = 0.3 if len(mine) > longest + 2 else 3.0

    def outlook(move, cell):
        if last_move is not None and move == OPPOSITE[last_move]:
            return -10_000
        if walls.get(cell, 0) > 1:
            return -5_000
        own = distances([cell], {**walls, mine[0]: len(mine)})
        room = sum(1 for near, moves in own.items() if moves + 1 < theirs.get(near, 10_000))
        value = min(len(own), 2 * len(mine) + 8) + 0.5 * room
        if len(own) < len(mine):
            value -= 300
        if cell in strikes:
            # When heads meet both die. That pays only late, against a shorter goose.
            value -= 150 if len(rivals) > 1 or len(strikes[cell]) >= len(mine) else 60
        return value - appetite * to_food.get(cell, rows + columns)

    outlooks = {
        move: outlook(move, cell) for move, cell in zip(STEPS, neighbours[mine[0]], strict=True)
    }
    last_move = max(outlooks, key=outlooks.get)
    return last_move
