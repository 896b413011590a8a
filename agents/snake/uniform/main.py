"""Moves at random to any free cell: the baseline.

A move takes microseconds. It needs no libraries.
"""

import random

OFFSETS = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}


def free_moves(observation):
    """The allowed moves and their cells: not off the board and not into the snake."""
    x, y = observation["snake"][0]
    width, height = observation["width"], observation["height"]
    near = {move: [x + right, y + down] for move, (right, down) in OFFSETS.items()}
    return {
        move: [u, v]
        for move, (u, v) in near.items()
        if 0 <= u < width and 0 <= v < height and [u, v] not in observation["snake"]
    }


def agent(observation, configuration):
    return random.choice(list(free_moves(observation)))
