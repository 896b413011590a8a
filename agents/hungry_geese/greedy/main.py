"""Moves to the nearest food, across the edges of the board too.

It avoids bodies, dead ends and cells that a rival's head can reach. It looks no further ahead. A
move takes well under a millisecond. It needs no libraries.
"""

STEPS = {"NORTH": (-1, 0), "EAST": (0, 1), "SOUTH": (1, 0), "WEST": (0, -1)}
OPPOSITE = {"NORTH": "SOUTH", "SOUTH": "NORTH", "EAST": "WEST", "WEST": "EAST"}

last_move = None


def neighbour(cell, move, rows, columns):
    row, column = divmod(cell, columns)
    down, right = STEPS[move]
    return (row + down) % rows * columns + (column + right) % columns


def distance(one, other, rows, columns):
    """The fewest moves between two cells, across the edges where that is shorter."""
    down = abs(one // columns - other // columns)
    right = abs(one % columns - other % columns)
    return min(down, rows - down) + min(right, columns - right)


def agent(observation, configuration):
    """The safest move; among equally safe moves the one nearest to food."""
    global last_move
    if observation["step"] == 0:
        last_move = None
    rows, columns = configuration["rows"], configuration["columns"]
    geese, food, index = observation["geese"], observation["food"], observation["index"]
    head = geese[index][0]
    # A tail moves away unless its goose eats. This agent ignores the exception.
    bodies = {cell for goose in geese for cell in goose[:-1]}
    contested = {
        neighbour(goose[0], move, rows, columns)
        for seat, goose in enumerate(geese)
        if goose and seat != index
        for move in STEPS
    }

    def badness(move):
        cell = neighbour(head, move, rows, columns)
        is_reversal = last_move is not None and move == OPPOSITE[last_move]
        is_dead_end = all(neighbour(cell, onward, rows, columns) in bodies for onward in STEPS)
        nearest = min((distance(cell, bite, rows, columns) for bite in food), default=0)
        return (is_reversal or cell in bodies, is_dead_end, cell in contested, nearest)

    last_move = min(STEPS, key=badness)
    return last_move
