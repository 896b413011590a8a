"""Builds what a snake sees: the body of the official API's requests (version 1).

Names are neutral. Looks, latencies and shouts are the same for all snakes, because they would
reveal who plays.
"""

from __future__ import annotations

from games.battlesnake.positions import State
from games.protocol import Json

ROYALE = "shrinkEveryNTurns"
SETTINGS = ("foodSpawnChance", "minimumFood", "hazardDamagePerTurn")
SQUAD = ("allowBodyCollisions", "sharedElimination", "sharedHealth", "sharedLength")


_built: tuple[State | None, dict[str, Json], dict[int, Json]] = (None, {}, {})
"""The last position, the part of its requests that all seats share, and the snakes by seat."""


def request_body(state: State, seat: int) -> dict[str, Json]:
    """The request of a seat. ``you`` is its own snake, even if the snake is out.

    Requests of one position share their board, so a change to one changes the others.
    """
    global _built
    built = _built
    if built[0] is not state:
        built = _built = _build_shared_parts(state)
    _, shared, snakes = built
    return {**shared, "you": snakes[seat] if seat in snakes else _snake_json(state, seat)}


def _build_shared_parts(state: State) -> tuple[State, dict[str, Json], dict[int, Json]]:
    rules, snakes = state.rules, {one: _snake_json(state, one) for one in state.alive}
    board = {
        "height": rules.height,
        "width": rules.width,
        "snakes": list(snakes.values()),
        "food": _points_json(state, state.food),
        "hazards": _points_json(state, state.hazards),
    }
    return state, {"game": _game_json(state), "turn": state.turn, "board": board}, snakes


def _game_json(state: State) -> dict[str, Json]:
    given = state.rules.configuration
    return {
        "id": state.names.game,
        "ruleset": {
            "name": given["ruleset"],
            "version": "v1",
            "settings": {
                **{name: given[name] for name in SETTINGS},
                "hazardMap": "",
                "hazardMapAuthor": "",
                "royale": {ROYALE: given[ROYALE]},
                "squad": dict.fromkeys(SQUAD, False),
            },
        },
        "map": given["map"],
        "timeout": given["timeout"],
        "source": "custom",
    }


def _snake_json(state: State, seat: int) -> dict[str, Json]:
    name = state.names.snakes[seat]
    cells = _points_json(state, state.bodies[seat])
    return {
        "id": name,
        "name": name[:8],
        "latency": "0",
        "health": state.health[seat],
        "body": cells,
        "head": dict(cells[0]),
        "length": len(cells),
        "shout": "",
        "squad": "",
        "customizations": {"color": "#888888", "head": "default", "tail": "default"},
    }


def _points_json(state: State, cells: tuple[int, ...]) -> list[dict[str, int]]:
    xy = state.rules.xy
    return [{"x": xy[cell][0], "y": xy[cell][1]} for cell in cells]
