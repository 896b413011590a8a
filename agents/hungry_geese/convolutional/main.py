"""Imitates the best agents of a ladder with a small convolutional network.

The script training/hungry_geese.py trained the network on episodes of this ladder. The weights are
in weights.npz; weights.json has the size of the data. The output needs only numpy: six 3 x 3
convolutions with wrapped borders, an average, three dense layers. The average is over the pond;
some weights use the cell of the own head instead. The agent plays the best move that runs into no
body that will stay.
"""

import os

import numpy as np

NAMES = ("NORTH", "EAST", "SOUTH", "WEST")
DOWN = (-1, 0, 1, 0)
RIGHT = (0, 1, 0, -1)
SLOPE = 0.1
CONVOLUTIONS = 6

# Kaggle executes this file without telling it the path.
PLACES = (os.path.dirname(globals().get("__file__", "")), "/kaggle_simulations/agent", "")
HERE = next(place for place in PLACES if os.path.exists(os.path.join(place, "weights.npz")))
with np.load(os.path.join(HERE, "weights.npz"), allow_pickle=False) as stored:
    WEIGHTS = {name: stored[name].astype(np.float32) for name in stored.files}
before = {"step": None, "heads": None, "move": None}
taps = {}


def leaky(values):
    return np.where(values > 0, values, SLOPE * values)


def neighbours(rows, columns):
    """For each cell, the cells under a 3 x 3 kernel, over columns and rows."""
    if (rows, columns) not in taps:
        column, row = np.divmod(np.arange(rows * columns), rows)  # cells in the order of the planes
        taps[rows, columns] = np.stack(
            [
                (column + right) % columns * rows + (row + down) % rows
                for right in (-1, 0, 1)
                for down in (-1, 0, 1)
            ],
            axis=1,
        )
    return taps[rows, columns]


def planes(geese, food, index, heads, rows, columns):
    """Shape (columns, rows, 4 * geese + 1): heads, tails, bodies, last heads, food."""
    count = len(geese)
    flat = np.zeros((4 * count + 1, rows * columns), dtype=np.uint8)
    for place in range(count):
        seat = (index + place) % count
        cells = list(geese[seat])
        if cells:
            flat[place, cells[0]] = 1
            flat[count + place, cells[-1]] = 1
            flat[2 * count + place, cells] = 1
        if heads is not None and heads[seat] is not None:
            flat[3 * count + place, heads[seat]] = 1
    flat[4 * count, list(food)] = 1
    return flat.reshape(4 * count + 1, rows, columns).transpose(2, 1, 0)


def scores(seen):
    """The network's four outputs for planes of (columns, rows, planes)."""
    columns, rows, channels = seen.shape
    under = neighbours(rows, columns)
    values = seen.reshape(columns * rows, channels).astype(np.float32)
    for number in range(CONVOLUTIONS):
        gathered = values[under].reshape(columns * rows, -1)
        values = leaky(gathered @ WEIGHTS[f"conv{number}"] + WEIGHTS[f"conv{number}_bias"])
    pooled = values[seen[:, :, 0].argmax()] if "at_head" in WEIGHTS else values.mean(axis=0)
    pooled = leaky(pooled @ WEIGHTS["dense0"] + WEIGHTS["dense0_bias"])
    pooled = leaky(pooled @ WEIGHTS["dense1"] + WEIGHTS["dense1_bias"])
    return pooled @ WEIGHTS["dense2"] + WEIGHTS["dense2_bias"]


def agent(observation, configuration):
    rows, columns = configuration["rows"], configuration["columns"]
    geese, index, step = observation["geese"], observation["index"], observation["step"]
    new = before["step"] is None or step != before["step"] + 1
    heads, last = (None, None) if new else (before["heads"], before["move"])
    if len(geese) == 4:
        wanted = scores(planes(geese, observation["food"], index, heads, rows, columns))
    else:
        wanted = np.zeros(4)  # the network was trained for four geese
    row, column = divmod(geese[index][0], columns)
    stays = {cell for goose in geese for cell in goose[:-1]}
    order = sorted(range(4), key=lambda move: -wanted[move])
    turning = [move for move in order if last is None or move != (last + 2) % 4]
    clear = [
        move
        for move in turning
        if (row + DOWN[move]) % rows * columns + (column + RIGHT[move]) % columns not in stays
    ]
    chosen = (clear or turning)[0]
    past = [goose[0] if goose else None for goose in geese]
    before.update(step=step, heads=past, move=chosen)
    return NAMES[chosen]
