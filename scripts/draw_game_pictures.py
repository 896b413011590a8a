"""Draws docs/games/NAME.svg: a position of each game, played by reference agents in this process.

    .venv/bin/python scripts/draw_game_pictures.py

The same code and seeds give the same pictures.
"""

from __future__ import annotations

import runpy
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from random import Random
from typing import Any

REPOSITORY = Path(__file__).parents[1]
sys.path.insert(0, str(REPOSITORY))

from games import GAMES  # noqa: E402

CELL = 40
COLOURS = ("#2f86c9", "#e0692b", "#1fa97c", "#c66a9f")
GROUND, TILE, FRUIT = "#dfeef1", "#d2e5e9", "#d6403a"
Cell = tuple[int, int]


def main() -> None:
    folder = REPOSITORY / "docs" / "games"
    geese = position("hungry_geese", 4, 70, {}, "survivor")
    board = {"columns": 11, "rows": 7}

    def torus(body: Iterable[int]) -> list[Cell]:
        return [(cell % board["columns"], cell // board["columns"]) for cell in body]

    write(
        folder / "hungry_geese.svg",
        (11, 7),
        [*map(fruit, torus(geese["food"])), *map(body, map(torus, geese["geese"]), COLOURS)],
    )
    snakes = position("battlesnake", 4, 45, {}, "grazer")
    height = snakes["board"]["height"]
    write(
        folder / "battlesnake.svg",
        (snakes["board"]["width"], height),
        [
            *(fruit((one["x"], height - 1 - one["y"])) for one in snakes["board"]["food"]),
            *(
                body([(part["x"], height - 1 - part["y"]) for part in one["body"]], colour)
                for one, colour in zip(snakes["board"]["snakes"], COLOURS, strict=False)
            ),
        ],
    )
    life = position("golad", 2, 3, {"width": 12, "height": 8, "startingCells": 22}, None)
    write(
        folder / "golad.svg",
        (12, 8),
        [
            square((place % 12, place // 12), COLOURS[int(owner)])
            for place, owner in enumerate(life["field"].split(","))
            if owner != "."
        ],
    )
    snake = position("snake", 1, 900, {}, "cycle_repair")
    write(
        folder / "snake.svg",
        (snake["width"], snake["height"]),
        [fruit(tuple(snake["apple"])), body([(x, y) for x, y in snake["snake"]], COLOURS[2])],
    )


def position(
    name: str, seats: int, steps: int, configuration: dict[str, Any], agent: str | None
) -> dict[str, Any]:
    """What the first seat that moves sees after these steps."""
    game, rng = GAMES[name], Random(11)  # noqa: S311
    full = game.configure(configuration)
    state, _ = game.reset(full, seats, rng)
    players = [load(name, agent) for _ in range(seats)] if agent else []
    seen: dict[str, Any] = {}
    for _ in range(steps):
        asked = game.to_move(state)
        if not asked:
            break
        observed = {seat: game.observe(state, seat) for seat in asked}
        seen = observed[asked[0]]
        moves = {
            seat: game.parse(state, seat, players[seat](Access(what), Access(full)))
            if players
            else "pass"
            for seat, what in observed.items()
        }
        state, _ = game.step(state, moves, rng)
    return seen


class Access(dict[str, Any]):
    """A mapping whose members are attributes too, as agents for Kaggle expect."""

    __getattr__ = dict.__getitem__


def load(game: str, agent: str) -> Callable[[Any, Any], Any]:
    found = runpy.run_path(str(REPOSITORY / "agents" / game / agent / "main.py"))
    made: Callable[[Any, Any], Any] = found["agent"]
    return made


def centre(cell: Cell) -> Cell:
    return cell[0] * CELL + CELL // 2, cell[1] * CELL + CELL // 2


def body(cells: Sequence[Cell], colour: str) -> str:
    """A body as a thick line with eyes at its head; broken where it leaves the board."""
    if not cells:
        return ""
    path = ""
    for number, cell in enumerate(cells):
        before = cells[number - 1] if number else None
        near = before is not None and abs(before[0] - cell[0]) + abs(before[1] - cell[1]) <= 1
        x, y = centre(cell)
        path += f"L{x} {y}" if near else f"M{x} {y}h.1"
    x, y = centre(cells[0])
    return (
        f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="26"'
        ' stroke-linecap="round" stroke-linejoin="round"/>'
        f'<circle cx="{x - 5}" cy="{y - 4}" r="4.5" fill="#fff"/>'
        f'<circle cx="{x + 6}" cy="{y - 4}" r="4.5" fill="#fff"/>'
        f'<circle cx="{x - 4}" cy="{y - 3}" r="2.2" fill="#102028"/>'
        f'<circle cx="{x + 7}" cy="{y - 3}" r="2.2" fill="#102028"/>'
    )


def fruit(cell: Cell | tuple[int, ...]) -> str:
    x, y = centre((cell[0], cell[1]))
    return (
        f'<circle cx="{x}" cy="{y + 1}" r="10" fill="{FRUIT}"/>'
        f'<path d="M{x} {y - 8}c1-5 5-7 9-6c-1 4-4 6-9 6z" fill="#3a8a3d"/>'
    )


def square(cell: Cell, colour: str) -> str:
    x, y = cell[0] * CELL + 4, cell[1] * CELL + 4
    return f'<rect x="{x}" y="{y}" width="{CELL - 8}" height="{CELL - 8}" rx="8" fill="{colour}"/>'


def write(path: Path, size: Cell, parts: Iterable[str]) -> None:
    width, height = size[0] * CELL, size[1] * CELL
    tiles = "".join(
        f"M{x * CELL} {y * CELL}h{CELL}v{CELL}h-{CELL}z"
        for y in range(size[1])
        for x in range(size[0])
        if (x + y) % 2
    )
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">'
        f'<rect width="{width}" height="{height}" rx="14" fill="{GROUND}"/>'
        f'<path d="{tiles}" fill="{TILE}"/>{"".join(parts)}</svg>\n'
    )


if __name__ == "__main__":
    main()
