"""A second implementation of Game of Life and Death: plain, slow, written without the first.

A field is a list of rows, y downwards, of ``"."``, ``"0"`` and ``"1"``.
"""

from __future__ import annotations

from copy import deepcopy

Field = list[list[str]]


class Illegal(Exception):
    """The line is no move here; nothing changes."""


def after_move(field: Field, player: str, line: str) -> Field:
    """The field after this line of ``player``; unchanged if the line is no legal move."""
    try:
        return moved(field, player, line)
    except Illegal:
        return deepcopy(field)


def moved(field: Field, player: str, line: str) -> Field:
    """The field after a legal move; raises Illegal with the first fault."""
    after = deepcopy(field)
    words = line.split(" ")
    kind = words[0].lower()
    if kind in ("pass", "no_moves"):
        return after
    if kind == "kill" and len(words) == 2:
        x, y = _place(words[1])
        _needs_board(field, x, y)
        if field[y][x] == ".":
            raise Illegal("kill: nothing lives there")
        after[y][x] = "."
        return after
    if kind == "birth" and len(words) == 4:
        target, *given = (_place(word) for word in words[1:])
        _needs_board(field, *target)
        if field[target[1]][target[0]] != ".":
            raise Illegal("birth: something lives there")
        for x, y in given:
            _needs_board(field, x, y)
            if field[y][x] != player:
                raise Illegal("birth: what is given up is not one's own")
        if given[0] == given[1]:
            raise Illegal("birth: one cell is given up twice")
        for x, y in given:
            after[y][x] = "."
        after[target[1]][target[0]] = player
        return after
    raise Illegal("neither pass, kill nor birth")


def _place(word: str) -> tuple[int, int]:
    numbers = word.split(",")
    try:
        return int(numbers[0]), int(numbers[1])
    except (IndexError, ValueError):
        raise Illegal(f"no place: {word}") from None


def _needs_board(field: Field, x: int, y: int) -> None:
    if not (0 <= y < len(field) and 0 <= x < len(field[0])):
        raise Illegal("off the board")


def after_generation(field: Field) -> Field:
    """The next generation:

    2 or 3 neighbours keep a cell, exactly 3 create one of their majority.
    """
    after = deepcopy(field)
    for y in range(len(field)):
        for x in range(len(field[0])):
            near = _neighbours(field, x, y)
            living = [owner for owner in near if owner != "."]
            if field[y][x] == "." and len(living) == 3:
                after[y][x] = "0" if living.count("0") > living.count("1") else "1"
            elif field[y][x] != "." and len(living) not in (2, 3):
                after[y][x] = "."
    return after


def _neighbours(field: Field, x: int, y: int) -> list[str]:
    return [
        field[beside_y][beside_x]
        for beside_y in (y - 1, y, y + 1)
        for beside_x in (x - 1, x, x + 1)
        if (beside_x, beside_y) != (x, y)
        and 0 <= beside_y < len(field)
        and 0 <= beside_x < len(field[0])
    ]


def living(field: Field) -> tuple[int, int]:
    """The number of cells of each player."""
    cells = [cell for row in field for cell in row]
    return cells.count("0"), cells.count("1")


def after_half(field: Field, player: str, line: str) -> Field:
    """The field after one player's half of a round."""
    return after_generation(after_move(field, player, line))


def over(field: Field, half: str, rounds_played: int, max_rounds: int) -> bool:
    """Whether the game ends after this half: a player has no cells left, or all rounds are over.

    ``rounds_played`` counts a round after player 1's half.
    """
    if min(living(field)) == 0:
        return True
    return half == "1" and rounds_played >= max_rounds


def winner(field: Field) -> str | None:
    """The only player with cells, or None."""
    zero, one = living(field)
    if zero and not one:
        return "0"
    return "1" if one and not zero else None


def start_fits(field: Field, cells: int, separate: bool) -> str | None:
    """Whether a game can start like this: a half turn swaps the owners."""
    height, width = len(field), len(field[0])
    other = {".": ".", "0": "1", "1": "0"}
    for y in range(height):
        for x in range(width):
            if field[y][x] != other[field[height - 1 - y][width - 1 - x]]:
                return f"{x},{y} is not the turned round"
    if living(field) != (cells, cells):
        return f"each has {cells} cells, not {living(field)}"
    if separate and any("1" in row for row in field[: height // 2]):
        return "the top half is player 0's alone"
    return None
