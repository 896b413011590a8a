"""Names that Hungry Geese agents import: observation, moves, the torus, two simple players.

Cells are numbered ``row * columns + column`` from the upper left. A goose lists its cells from the
head. The referee has the rules.
"""

import json
from enum import Enum, auto
from os import path
from random import choice, sample
from typing import Any, List, Tuple  # noqa: UP035  a star import brings them to agents

from ... import helpers
from ...absent import absent
from ...helpers import histogram


class Observation(helpers.Observation):
    """One goose's view of a step."""

    @property
    def geese(self) -> list[list[int]]:
        """Cells of each goose by seat, head first. Empty for a goose that is out."""
        return self["geese"]  # type: ignore[no-any-return]

    @property
    def food(self) -> list[int]:
        """Cells with food."""
        return self["food"]  # type: ignore[no-any-return]

    @property
    def index(self) -> int:
        """The seat of this agent."""
        return self["index"]  # type: ignore[no-any-return]


class Configuration(helpers.Configuration):
    """The parameters of a game."""

    @property
    def columns(self) -> int:
        """Cells from west to east."""
        return self["columns"]  # type: ignore[no-any-return]

    @property
    def rows(self) -> int:
        """Cells from north to south."""
        return self["rows"]  # type: ignore[no-any-return]

    @property
    def hunger_rate(self) -> int:
        """Each goose loses a cell after this many steps."""
        return self["hunger_rate"]  # type: ignore[no-any-return]

    @property
    def min_food(self) -> int:
        """Least food on the board."""
        return self["min_food"]  # type: ignore[no-any-return]

    @property
    def max_length(self) -> int:
        """Most cells of a goose."""
        return self["max_length"]  # type: ignore[no-any-return]


class Action(Enum):
    """A move. Agents answer with its name."""

    NORTH = auto()
    EAST = auto()
    SOUTH = auto()
    WEST = auto()

    def to_row_col(self) -> tuple[int, int]:
        """Rows down and columns right that the head moves."""
        return _OFFSETS[self.name]

    def opposite(self) -> "Action":
        """The reverse direction. A goose that moves there dies."""
        return Action[_OPPOSITES[self.name]]


_OFFSETS = {"NORTH": (-1, 0), "EAST": (0, 1), "SOUTH": (1, 0), "WEST": (0, -1)}
_OPPOSITES = {"NORTH": "SOUTH", "EAST": "WEST", "SOUTH": "NORTH", "WEST": "EAST"}


def row_col(position: int, columns: int) -> tuple[int, int]:
    """Row and column of a cell."""
    return divmod(position, columns)


def translate(position: int, direction: Action, columns: int, rows: int) -> int:
    """The cell one move away, across the edge if needed."""
    row, column = divmod(position, columns)
    down, right = direction.to_row_col()
    return (row + down) % rows * columns + (column + right) % columns


def adjacent_positions(position: int, columns: int, rows: int) -> list[int]:
    """The four cells one move away, in the order of Action."""
    return [translate(position, move, columns, rows) for move in Action]


def min_distance(position: int, food: list[int], columns: int) -> int:
    """Steps to the nearest food if the board had walls. Raises ValueError without food."""
    row, column = divmod(position, columns)
    return min(abs(row - bite // columns) + abs(column - bite % columns) for bite in food)


def random_agent() -> str:
    """Any of the four moves."""
    return choice(list(Action)).name  # noqa: S311  a game


class GreedyAgent:
    """Moves to the nearest food. Avoids all bodies and cells that other heads can reach."""

    def __init__(self, configuration: Configuration) -> None:
        self.configuration = configuration
        self.last_action: Action | None = None

    def __call__(self, observation: Observation) -> str:
        columns, rows = self.configuration.columns, self.configuration.rows
        seat = observation.index
        avoided: set[int] = set()
        for other, goose in enumerate(observation.geese):
            avoided.update(goose)
            if goose and other != seat:
                avoided.update(adjacent_positions(goose[0], columns, rows))
        reversal = self.last_action.opposite() if self.last_action else None
        head = observation.geese[seat][0]
        hunger: dict[Action, int] = {}
        for move in Action:
            cell = translate(head, move, columns, rows)
            if cell not in avoided and move is not reversal:
                hunger[move] = min_distance(cell, observation.food, columns)
        # The first of the nearest wins. Without a safe move, one draw decides.
        chosen = min(hunger, key=hunger.__getitem__) if hunger else choice(list(Action))  # noqa: S311
        self.last_action = chosen
        return chosen.name


cached_greedy_agents: dict[int, GreedyAgent] = {}


def greedy_agent(obs: dict[str, Any], config: dict[str, Any]) -> str:
    """The move of this seat's GreedyAgent, which the first call creates."""
    seat = obs["index"]
    if seat not in cached_greedy_agents:
        cached_greedy_agents[seat] = GreedyAgent(Configuration(config))
    return cached_greedy_agents[seat](Observation(obs))


agents = {"random": random_agent, "greedy": greedy_agent}

interpreter = absent("interpreter")
renderer = absent("renderer")
html_renderer = absent("html_renderer")


def _number(default: int | None = None, minimum: int | None = None) -> dict[str, Any]:
    bounds = {"default": default, "minimum": minimum}
    given = {name: value for name, value in bounds.items() if value is not None}
    return {"type": "integer", **given}


_CELLS = {"type": "array", "items": _number(minimum=0)}

specification: dict[str, Any] = {
    "name": "hungry_geese",
    "title": "Hungry Geese",
    "version": "1.0.0",
    "agents": list(range(1, 9)),
    "configuration": {
        "episodeSteps": 200,
        "actTimeout": 1,
        "columns": _number(11, 3),
        "rows": _number(7, 3),
        "hunger_rate": _number(40, 1),
        "min_food": _number(2, 1),
        "max_length": _number(99),
    },
    "reward": _number(0, 0),
    "observation": {
        "geese": {"type": "array", "default": [], "shared": True, "items": _CELLS},
        "food": {**_CELLS, "default": [], "shared": True},
        "index": {**_number(minimum=0), "defaults": list(range(8))},
        "remainingOverageTime": 60,
    },
    "action": {
        "type": "string",
        "enum": [move.name for move in Action],
        "default": Action.NORTH.name,
    },
}

# Same names and order as the original's star import. So a main.py that redefines one of them has
# the same last callable as on Kaggle.
__all__ = [  # noqa: RUF022
    "json",
    "Enum",
    "auto",
    "path",
    "choice",
    "sample",
    "List",
    "Tuple",
    "histogram",
    "Observation",
    "Configuration",
    "Action",
    "row_col",
    "translate",
    "adjacent_positions",
    "min_distance",
    "random_agent",
    "GreedyAgent",
    "cached_greedy_agents",
    "greedy_agent",
    "agents",
    "interpreter",
    "renderer",
    "specification",
    "html_renderer",
]
