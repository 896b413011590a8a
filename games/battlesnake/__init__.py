"""Battlesnake by the official rules, with the usual maps.

``rules`` has the configuration, the start and the turn. What a snake sees is the body of the
official API's requests (version 1). Names are neutral. Looks, latencies and shouts are the same
for all snakes, because they would reveal who plays. Source of the rules: BattlesnakeOfficial/rules
87e094e.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from random import Random
from types import MappingProxyType
from uuid import UUID

from games.battlesnake.rules import (
    MAX_HEALTH,
    MOVES,
    START_LENGTH,
    Names,
    State,
    cell_of_recorded_point,
    configure_battlesnake,
    first_food,
    play_turn,
    rules_for,
    start_positions,
)
from games.protocol import (
    GameError,
    InvalidMove,
    Json,
    Measure,
    Outcome,
    Verdict,
    placements_from_scores,
)

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


FIRST_MOVE = "up"
"""The move of a snake that has never given a valid answer."""


class Battlesnake:
    name = "battlesnake"
    title = "Battlesnake"
    version = "1.0.0"
    seats = range(1, 17)
    lenient = frozenset({Verdict.ERROR, Verdict.INVALID, Verdict.TIMEOUT})
    mirrored = False
    shows_whole_board = True
    clock_fields: Mapping[str, int] = MappingProxyType({"timeout": 1000})
    measures: tuple[Measure, ...] = (
        Measure("turns", "Turns lived", "mean"),
        Measure("length", "Length", "mean"),
    )
    clock: Mapping[str, Json] = MappingProxyType(
        {"act_seconds": 0.5, "bank_seconds": 0.0, "load": "own", "load_seconds": 10.0}
    )

    def configure(self, overrides: Mapping[str, Json]) -> dict[str, Json]:
        """Return the full configuration. ``maxTurns`` is our own field.

        The match's clock sets ``timeout``, in ms. Raises ConfigurationError naming the field.
        """
        return configure_battlesnake(overrides)

    def longest(self, configuration: Mapping[str, Json]) -> int:
        """``maxTurns``. Snakes alive after it are tied."""
        return int(configuration["maxTurns"])

    def reset(
        self, configuration: Mapping[str, Json], seats: int, chance: Random | Json
    ) -> tuple[State, Json]:
        """The first position and its chance: ids of game and snakes, heads and food as [x, y].

        Raises GameError if the board has no room or the chance does not fit.
        """
        if seats not in self.seats:
            raise GameError(f"{self.title} is for 1 to 16 snakes, not {seats}", field="seats")
        rules = rules_for(configuration)
        if isinstance(chance, Random):
            game, *snakes = (_random_uuid(chance) for _ in range(seats + 1))
            heads = start_positions(rules, seats, chance)
            has_food = rules.spawns and not rules.constrictor
            food = first_food(rules, heads, chance) if has_food else []
        else:
            game, snakes = str(chance["game"]), [str(name) for name in chance["snakes"]]
            heads = [cell_of_recorded_point(rules, point) for point in chance["heads"]]
            food = [cell_of_recorded_point(rules, point) for point in chance["food"]]
            for given in (snakes, heads):
                if len(given) != seats or len(set(given)) != seats:
                    raise GameError(f"needs {seats} different, given {given!r:.100}", field="start")
        state = State(
            rules=rules,
            names=Names(game, tuple(snakes)),
            turn=0,
            bodies=tuple((head,) * START_LENGTH for head in heads),
            health=(MAX_HEALTH,) * seats,
            alive=tuple(range(seats)),
            causes=(None,) * seats,
            eliminated_on=(None,) * seats,
            food=tuple(food),
            hazards=(),
            calm=(0, rules.width - 1, 0, rules.height - 1),
            last_moves=(FIRST_MOVE,) * seats,
            faults=(None,) * seats,
            answered=(False,) * seats,
        )
        return state, {
            "game": game,
            "snakes": list(snakes),
            "heads": [list(rules.xy[cell]) for cell in heads],
            "food": [list(rules.xy[cell]) for cell in food],
        }

    def to_move(self, state: State) -> tuple[int, ...]:
        """All living snakes. They move at the same time."""
        return () if state.over else state.alive

    def observe(self, state: State, seat: int) -> dict[str, Json]:
        return request_body(state, seat)

    def parse(self, state: State, seat: int, raw: Json) -> Json:
        """A direction, either alone or under ``move`` as a server answers. Raises InvalidMove."""
        move = raw.get("move") if isinstance(raw, Mapping) else raw
        if isinstance(move, str) and move in MOVES:
            return move
        raise InvalidMove(f"expected one of {', '.join(MOVES)}, got {raw!r:.100}")

    def sample(self, state: State, seat: int, random: Random) -> Json:
        """A direction that hits neither a wall nor the snake itself, if there is one."""
        rules, body = state.rules, state.bodies[seat]
        ahead = {move: body[0] + offset for move, offset in rules.offsets.items()}
        ways = {move: rules.wraps.get(cell, cell) for move, cell in ahead.items()}
        taken = {*body[:-1], *rules.outside}
        return random.choice([move for move, cell in ways.items() if cell not in taken] or MOVES)

    def step(
        self, state: State, moves: Mapping[int, Json | Verdict], chance: Random | Json
    ) -> tuple[State, Json]:
        """The next position. A seat at fault repeats its last direction, at first up."""
        return play_turn(state, moves, chance)

    def outcome(self, state: State) -> Outcome | None:
        """Rank seats by the turn of their elimination. Seats out in one turn tie, and so do
        survivors.

        A reward is the share of the other snakes that a snake outlived; a tie counts half. A sole
        winner gets 1, a sole last one 0. A snake alone gets the number of its turns. A snake that
        never gave a valid answer gets nothing.
        """
        if not state.over:
            return None
        lived = [math.inf if turn is None else turn for turn in state.eliminated_on]
        verdicts = tuple(fault or Verdict.DONE for fault in state.faults)
        turns_lived = [state.turn if turn is None else turn for turn in state.eliminated_on]
        statistics: tuple[Mapping[str, float], ...] = ()
        if len(lived) == 1:
            shares = [float(turns_lived[0])]
            statistics = ({"turns": turns_lived[0], "length": len(state.bodies[0])},)
        else:
            shares = [_share_outlived(one, lived) for one in lived]
        return Outcome(
            placements=placements_from_scores(lived),
            rewards=tuple(
                None if verdict.is_fault else share
                for share, verdict in zip(shares, verdicts, strict=True)
            ),
            verdicts=verdicts,
            statistics=statistics,
        )

    def frame(self, state: State) -> dict[str, Json]:
        """The position, y upwards, with the cause and turn of each elimination."""
        xy = state.rules.xy
        return {
            "turn": state.turn,
            "width": state.rules.width,
            "height": state.rules.height,
            "snakes": [
                {
                    "body": [list(xy[cell]) for cell in body],
                    "health": state.health[seat],
                    "cause": (cause := state.causes[seat]) and str(cause),
                    "eliminated_on": state.eliminated_on[seat],
                }
                for seat, body in enumerate(state.bodies)
            ],
            "food": [list(xy[cell]) for cell in state.food],
            "hazards": [list(xy[cell]) for cell in state.hazards],
        }


def _random_uuid(chance: Random) -> str:
    return str(UUID(int=chance.getrandbits(128), version=4))


def _share_outlived(own: float, lived: list[float]) -> float:
    beaten = sum(one < own for one in lived)
    tied = sum(one == own for one in lived) - 1
    return (beaten + tied / 2) / (len(lived) - 1)


GAME = Battlesnake()
