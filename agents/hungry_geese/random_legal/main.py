"""Plays any move without an immediate collision: the baseline.

A move takes well under a millisecond. It needs no libraries.
"""

import random

STEPS = {"NORTH": (-1, 0), "EAST": (0, 1), "SOUTH": (1, 0), "WEST": (0, -1)}
OPPOSITE = {"NORTH": "SOUTH", "SOUTH": "NORTH", "EAST": "WEST", "WEST": "EAST"}

last_move = None


def agent(observation, configuration):
    """A random move into a cell without a goose, and no reversal."""
    global last_move
    if observation["step"] == 0:
        last_move = None
    rows, columns = configuration["rows"], configuration["columns"]
    row, column = divmod(observation["geese"][observation["index"]][0], columns)
    taken = {cell for goose in observation["geese"] for cell in goose}
    legal = [
        move
        for move, (down, right) in STEPS.items()
        if (row + down) % rows * columns + (column + right) % columns not in taken
        and (last_move is None or move != OPPOSITE[last_move])
    ]
    last_move = random.choice(legal or list(STEPS))
    return last_move
