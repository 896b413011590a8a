"""The configuration of Battlesnake, checked field by field, and constants derived from it.

A cell is a number. The board has a ring of one cell around it, so a head outside the board still
has a cell. ``Rules.xy`` gives coordinates, with the origin at the bottom left and y upwards.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from games.protocol import ConfigurationError, ConfigurationField, Json, configure

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
        """The cell at these coordinates, on the board or in the ring."""
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
    """The rules of a full configuration."""
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
