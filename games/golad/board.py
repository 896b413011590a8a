"""The board of Game of Life and Death, and how one generation follows another.

A side's cells are the bits of one number, row after row, with an empty column after each row. So a
shifted number is the board shifted by one cell.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True, slots=True)
class Rules:
    """Constants derived from a configuration."""

    width: int
    height: int
    max_rounds: int
    stride: int
    """Bits from one row to the next."""
    board: int
    """The bits that are cells."""


@lru_cache(maxsize=16)
def rules_for(width: int, height: int, max_rounds: int) -> Rules:
    """The constants of a board of this size."""
    stride = width + 1
    row = (1 << width) - 1
    board = sum(row << (y * stride) for y in range(height))
    return Rules(width, height, max_rounds, stride, board)


def cell_bit(rules: Rules, x: int, y: int) -> int:
    """The bit of one cell."""
    return 1 << (y * rules.stride + x)


def next_generation(zero: int, one: int, rules: Rules) -> tuple[int, int]:
    """Both sides one generation later. Of three parents at least two belong to one side."""
    living = zero | one
    odd, few = _neighbour_masks(living, rules.stride)
    births = odd & few & ~living & rules.board
    # With three living neighbours, two or three of player 0's are a majority.
    _, majority = _neighbour_masks(zero, rules.stride)
    return zero & few | births & majority, one & few | births & ~majority


def _neighbour_masks(cells: int, stride: int) -> tuple[int, int]:
    """For every cell: whether an odd number of ``cells`` is near it, and whether two or three are.

    The eight shifted boards are added bit by bit, for all cells at once.
    """
    left, right = cells << 1, cells >> 1
    beside, pair = left ^ right, left & right
    row, row_pair = beside ^ cells, pair | beside & cells
    above, below = row << stride, row >> stride
    above_pair, below_pair = row_pair << stride, row_pair >> stride
    vertical = above ^ below
    carried = above & below | vertical & beside
    pairs, more_pairs = above_pair ^ below_pair, pair ^ carried
    many = above_pair & below_pair | pair & carried | pairs & more_pairs
    return vertical ^ beside, (pairs ^ more_pairs) & ~many
