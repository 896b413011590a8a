"""Prints about a megabyte in each call and otherwise plays legal moves."""

from typing import Any

STEPS = {"NORTH": (-1, 0), "EAST": (0, 1), "SOUTH": (1, 0), "WEST": (0, -1)}
OPPOSITE = {"NORTH": "SOUTH", "SOUTH": "NORTH", "EAST": "WEST", "WEST": "EAST"}
memory = {"last": ""}


def exits_of(cell: int, taken: set[int], rows: int, columns: int) -> list[str]:
    row, column = divmod(cell, columns)
    return [
        move
        for move, (down, right) in STEPS.items()
        if (row + down) % rows * columns + (column + right) % columns not in taken
    ]


def play(observation: Any, configuration: Any) -> str:
    """A legal move if there is one, so that the agent lives until its fault."""
    if observation["step"] == 0:
        memory["last"] = ""
    taken = {cell for goose in observation["geese"] for cell in goose}
    head = observation["geese"][observation["index"]][0]
    free = exits_of(head, taken, configuration["rows"], configuration["columns"])
    legal = [move for move in free if move != OPPOSITE.get(memory["last"])]
    memory["last"] = (legal or ["NORTH"])[observation["step"] % max(1, len(legal))]
    return memory["last"]


def agent(observation: Any, configuration: Any) -> str:
    for _ in range(1000):
        print("x" * 1000)
    return play(observation, configuration)
