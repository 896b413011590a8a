"""Snake for one player, as the environment of AlphaSnake plays it.

x grows to the right, y downwards. Cells are ``y * width + x`` inside and ``[x, y]`` outside. The
snake starts two cells long, its head at x = width // 2, y = 2 and its tail one cell above.

A move goes into a free cell. The tail's cell counts as taken, even if the tail is about to leave
it. So the snake can neither turn back nor die. The game ends when no free cell is near (trapped),
when the board is full (won), or after ``maxSteps`` moves. A forced move is asked for and counted
like any other.

Source of the rules: TheDukeVin/AlphaSnake.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from types import MappingProxyType
from typing import NamedTuple

from games.protocol import (
    ConfigurationError,
    ConfigurationField,
    GameError,
    InvalidMove,
    Json,
    Measure,
    Outcome,
    Verdict,
    configure,
)

OFFSETS = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}

MAX_CELLS = 250_000
"""Our own limit, far above any board in play, so that a typing error cannot fill the memory."""

FIELDS = (
    ConfigurationField("width", int, 10, 2),
    ConfigurationField("height", int, 10, 3),
    ConfigurationField("maxSteps", int, 1200, 1),
)


@dataclass(frozen=True, slots=True)
class Rules:
    width: int
    cells: int
    max_steps: int
    next_cell: Sequence[Mapping[str, int]]
    """``next_cell[cell][move]`` is the cell that a head enters. Moves off the board are missing."""


class State(NamedTuple):
    rules: Rules
    step: int
    snake: tuple[int, ...]
    """The snake's cells, head first."""
    apple: int | None
    """The apple's cell. None if the board is full."""
    verdict: Verdict


@lru_cache(maxsize=16)
def rules_for(width: int, height: int, max_steps: int) -> Rules:
    return Rules(
        width=width,
        cells=width * height,
        max_steps=max_steps,
        next_cell=tuple(
            {
                move: (y + down) * width + x + right
                for move, (right, down) in OFFSETS.items()
                if 0 <= x + right < width and 0 <= y + down < height
            }
            for y in range(height)
            for x in range(width)
        ),
    )


class Snake:
    name = "snake"
    title = "Snake"
    version = "1.0.0"
    seats = range(1, 2)
    lenient: frozenset[Verdict] = frozenset()
    mirrored = False
    shows_whole_board = True
    measures: tuple[Measure, ...] = (
        Measure("won", "Games won", "share"),
        Measure("length", "Length", "mean"),
        Measure("steps", "Steps of won games", "mean", is_higher_better=False, of="won"),
    )
    clock: Mapping[str, Json] = MappingProxyType(
        {"act_seconds": 1.0, "bank_seconds": 60.0, "load": "first_move"}
    )

    def configure(self, overrides: Mapping[str, Json]) -> dict[str, Json]:
        """The paper's configuration. A missing or null field has its default.

        Raises ConfigurationError naming the field.
        """
        configuration = configure(FIELDS, overrides)
        if configuration["width"] * configuration["height"] > MAX_CELLS:
            raise ConfigurationError("height", f"width times height may be at most {MAX_CELLS}")
        return configuration

    def measure_bounds(
        self, configuration: Mapping[str, Json]
    ) -> dict[str, tuple[float | None, float | None]]:
        """A snake is two cells long at the start and at most as long as the board has cells."""
        cells = configuration["width"] * configuration["height"]
        return {"length": (2, cells), "steps": (1, configuration["maxSteps"])}

    def longest(self, configuration: Mapping[str, Json]) -> int:
        return int(configuration["maxSteps"])

    def reset(
        self, configuration: Mapping[str, Json], seats: int, chance: Random | Json
    ) -> tuple[State, Json]:
        """The first position. Chance is ``{"apple": [x, y]}``, drawn evenly from all free cells."""
        if seats not in self.seats:
            raise GameError(f"seats: {self.title} is for 1 player, not {seats}")
        width = configuration["width"]
        rules = rules_for(width, configuration["height"], configuration["maxSteps"])
        head = 2 * width + width // 2
        snake = (head, head - width)
        apple = _place_apple(rules, snake, chance)
        state = State(rules, 0, snake, apple, Verdict.ACTIVE)
        return state, {"apple": _cell_coordinates(rules, apple)}

    def to_move(self, state: State) -> tuple[int, ...]:
        """The one seat, until the end."""
        return (0,) if state.verdict is Verdict.ACTIVE else ()

    def observe(self, state: State, seat: int) -> dict[str, Json]:
        return {**self.frame(state), "max_steps": state.rules.max_steps}

    def parse(self, state: State, seat: int, raw: Json) -> Json:
        """A direction into a free cell. Raises InvalidMove."""
        if not isinstance(raw, str) or raw not in OFFSETS:
            raise InvalidMove(f"expected one of {', '.join(OFFSETS)}, got {raw!r:.100}")
        cell = state.rules.next_cell[state.snake[0]].get(raw)
        if cell is None:
            raise InvalidMove(f"{raw} leaves the board")
        if cell in state.snake:
            raise InvalidMove(f"{raw} goes into the snake")
        return raw

    def sample(self, state: State, seat: int, random: Random) -> Json:
        """One of the directions into a free cell. A running game always has one."""
        near = state.rules.next_cell[state.snake[0]]
        return random.choice([move for move, cell in near.items() if cell not in state.snake])

    def step(
        self, state: State, moves: Mapping[int, Json | Verdict], chance: Random | Json
    ) -> tuple[State, Json]:
        """The next position. Chance is ``{"apple": [x, y]}``, or null if no apple was added.

        Raises GameError for an invalid move or apple.
        """
        rules, step, snake, apple, verdict = state
        if verdict is not Verdict.ACTIVE:
            raise GameError("the game is over")
        move: Json | Verdict = moves.get(0)
        if isinstance(move, Verdict) and move.is_fault:
            _check_no_apple(chance)
            return state._replace(verdict=move), {"apple": None}
        cell = rules.next_cell[snake[0]].get(move)
        if cell is None or cell in snake:
            raise GameError(f"seat 0: needs a move into a free cell or a fault, got {move!r:.100}")
        step += 1
        put_down: int | None = None
        if cell == apple:
            snake = (cell, *snake)
            if len(snake) < rules.cells:
                put_down = _place_apple(rules, snake, chance)
            apple = put_down
        else:
            snake = (cell, *snake[:-1])
        if put_down is None:
            _check_no_apple(chance)
        is_trapped = all(near in snake for near in rules.next_cell[cell].values())
        if is_trapped or step >= rules.max_steps:
            verdict = Verdict.DONE
        return State(rules, step, snake, apple, verdict), {
            "apple": _cell_coordinates(rules, put_down)
        }

    def outcome(self, state: State) -> Outcome | None:
        """The reward is the length, None if the agent failed.

        ``won``, ``length`` and ``steps`` are always in the statistics.
        """
        if state.verdict is Verdict.ACTIVE:
            return None
        length = len(state.snake)
        return Outcome(
            placements=(1,),
            rewards=(None if state.verdict.is_fault else length,),
            verdicts=(state.verdict,),
            statistics=(
                {"won": int(length == state.rules.cells), "length": length, "steps": state.step},
            ),
        )

    def frame(self, state: State) -> dict[str, Json]:
        """The position, with the snake head first."""
        rules = state.rules
        return {
            "step": state.step,
            "width": rules.width,
            "height": rules.cells // rules.width,
            "snake": [_cell_coordinates(rules, cell) for cell in state.snake],
            "apple": _cell_coordinates(rules, state.apple),
        }


def _cell_coordinates(rules: Rules, cell: int | None) -> list[int] | None:
    return None if cell is None else [cell % rules.width, cell // rules.width]


def _place_apple(rules: Rules, snake: tuple[int, ...], chance: Random | Json) -> int:
    taken = set(snake)
    if isinstance(chance, Random):
        return chance.choice([cell for cell in range(rules.cells) if cell not in taken])
    x, y = chance["apple"]
    apple: int = y * rules.width + x
    if not (0 <= x < rules.width and 0 <= apple < rules.cells) or apple in taken:
        raise GameError(f"apple: needs a free cell, given {chance['apple']!r:.100}")
    return apple


def _check_no_apple(chance: Random | Json) -> None:
    if not isinstance(chance, Random) and chance["apple"] is not None:
        raise GameError(f"apple: none is put down here, given {chance['apple']!r:.100}")


GAME = Snake()
