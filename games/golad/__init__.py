"""Game of Life and Death, as the Riddles.io engine 1.1.1 plays it.

Two players share a board of Conway's Game of Life that does not wrap; x grows to the right, y
downwards. A round has two halves: player 0 moves and one generation passes, then player 1 does the
same. A move passes, kills any cell, or gives up two cells for a birth. A player alone on the board
at the end wins. The number of cells decides nothing.

A side's cells are the bits of one number, row after row, with an empty column after each row. So a
shifted number is the board shifted by one cell.

Source of the rules: riddlesio/golad-engine.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
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
    placements_from_scores,
)


@dataclass(frozen=True, slots=True)
class Rules:
    width: int
    height: int
    max_rounds: int
    stride: int
    """Bits from one row to the next."""
    board: int
    """The bits that are cells."""


@lru_cache(maxsize=16)
def rules_for(width: int, height: int, max_rounds: int) -> Rules:
    stride = width + 1
    row = (1 << width) - 1
    board = sum(row << (y * stride) for y in range(height))
    return Rules(width, height, max_rounds, stride, board)


def cell_bit(rules: Rules, x: int, y: int) -> int:
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


MAX_CELLS = 60_000
"""Our own limit, far above any board in play. The observation of a larger board exceeds one
packet (128 KiB).
"""

FIELDS = (
    ConfigurationField("width", int, 18, 1),
    ConfigurationField("height", int, 16, 2),
    ConfigurationField("maxRounds", int, 100, 1),
    ConfigurationField("startingCells", int, 40, 1),
    ConfigurationField("separateStartingCells", bool, True),
)

NO_MOVE = "null"
"""Text that the opponent gets instead of a move: before the first move and after a fault."""
PASSES = ("pass", "no_moves")
LETTERS = {("0", "0"): ".", ("1", "0"): "0", ("0", "1"): "1"}
# The engine reads two numbers as Java does and ignores everything after a second comma.
COORDINATE = re.compile(r"([+-]?[0-9]{1,20}),([+-]?[0-9]{1,20})(?:,.*)?", re.ASCII)
SYNTAX = 'expected "pass", "kill x,y" or "birth x,y a,b c,d"'


class State(NamedTuple):
    """A position before a half round, or the last one. Tuples are indexed by seat."""

    rules: Rules
    round: int
    """Round from 1. In the last position, the number of rounds played."""
    seat: int | None
    """Seat to move. None if the game is over."""
    cells: tuple[int, int]
    told: tuple[str, str]
    """Each seat's last move, as the opponent gets it."""
    standing: tuple[Verdict, Verdict]
    """ACTIVE before the first answer, INVALID while no answer was a move, DONE after the first
    move. TIMEOUT and ERROR stay, and their seat is inert.
    """


class Change(NamedTuple):
    """A legal move: its canonical text, the cells that die, the cell that is born."""

    text: str
    gone: int
    born: int


def most_starting_cells(width: int, height: int) -> int:
    """Both players' cells together fill at most 60 % of the board."""
    return 3 * width * height // 10


class Golad:
    name = "golad"
    title = "Game of Life and Death"
    version = "1.0.0"
    seats = range(2, 3)
    lenient = frozenset({Verdict.INVALID})
    mirrored = True
    shows_whole_board = True
    measures: tuple[Measure, ...] = ()
    clock: Mapping[str, Json] = MappingProxyType(
        {
            "act_seconds": 0.0,
            "bank_seconds": 10.0,
            "increment_seconds": 0.1,
            "load": "own",
            "load_seconds": 10.0,
        }
    )

    def configure(self, overrides: Mapping[str, Json]) -> dict[str, Json]:
        """The site's configuration. A missing or null field has the site's default.

        Raises ConfigurationError naming the field.
        """
        configuration = configure(FIELDS, overrides)
        width, height = configuration["width"], configuration["height"]
        if height % 2:
            raise ConfigurationError(
                "height", f"must be even, because one half is the other half turned, got {height}"
            )
        if width * height > MAX_CELLS:
            raise ConfigurationError("height", f"width times height may be at most {MAX_CELLS}")
        most = most_starting_cells(width, height)
        if configuration["startingCells"] > most:
            raise ConfigurationError(
                "startingCells",
                f"must be at most {most} on a board of {width}x{height},"
                f" got {configuration['startingCells']}",
            )
        return configuration

    def longest(self, configuration: Mapping[str, Json]) -> int:
        """Two half rounds a round."""
        return 2 * int(configuration["maxRounds"])

    def reset(
        self, configuration: Mapping[str, Json], seats: int, chance: Random | Json
    ) -> tuple[State, Json]:
        """The start: cells drawn in the top half. The bottom half is the top half turned by 180
        degrees with the owners swapped.

        Chance is ``{"cells": [y * width + x, ...], "owners": [seat, ...]}``.
        """
        if seats not in self.seats:
            raise GameError(f"seats: {self.title} is for 2 players, not {seats}")
        width, height = configuration["width"], configuration["height"]
        rules = rules_for(width, height, configuration["maxRounds"])
        count, top = configuration["startingCells"], range(width * height // 2)
        separate = configuration["separateStartingCells"]
        if isinstance(chance, Random):
            cells = chance.sample(top, count)
            owners = [0 if separate else chance.randrange(2) for _ in cells]
        else:
            cells, owners = list(chance["cells"]), list(chance["owners"])
            if len(cells) != count or len(set(cells)) != count or not set(top).issuperset(cells):
                raise GameError(f"cells: needs {count} different ones of the top half")
            if len(owners) != count or not set(owners) <= ({0} if separate else {0, 1}):
                raise GameError("owners: needs 0 for each cell, or 0 or 1 if they are not separate")
        sides = [0, 0]
        for cell, owner in zip(cells, owners, strict=True):
            y, x = divmod(cell, width)
            sides[owner] |= cell_bit(rules, x, y)
            sides[1 - owner] |= cell_bit(rules, width - 1 - x, height - 1 - y)
        state = State(
            rules=rules,
            round=1,
            seat=0,
            cells=(sides[0], sides[1]),
            told=(NO_MOVE, NO_MOVE),
            standing=(Verdict.ACTIVE, Verdict.ACTIVE),
        )
        return state, {"cells": cells, "owners": owners}

    def to_move(self, state: State) -> tuple[int, ...]:
        """One player per half round."""
        return () if state.seat is None else (state.seat,)

    def observe(self, state: State, seat: int) -> dict[str, Json]:
        """What the site's protocol sends before a move. ``field`` and moves have its format."""
        rules = state.rules
        return {
            "round": state.round,
            "width": rules.width,
            "height": rules.height,
            "max_rounds": rules.max_rounds,
            "you": seat,
            "field": ",".join(_cell_letters(state)),
            "living": [side.bit_count() for side in state.cells],
            "opponent_move": state.told[1 - seat],
        }

    def parse(self, state: State, seat: int, raw: Json) -> Json:
        """The move's words with single spaces, in lower case.

        Raises InvalidMove naming the first error, in the engine's order.
        """
        return _parse_move(state, seat, raw).text

    def sample(self, state: State, seat: int, random: Random) -> Json:
        """A pass, the death of any cell, or a birth if two cells can be given up."""
        letters, width = _cell_letters(state), state.rules.width
        places = [f"{cell % width},{cell // width}" for cell in range(len(letters))]
        dead, living, own = (
            [place for place, letter in zip(places, letters, strict=True) if letter in wanted]
            for wanted in (".", "01", str(seat))
        )
        kind = random.choice(("pass", "kill", "birth", "birth"))
        if kind == "birth" and dead and len(own) > 1:
            return f"birth {random.choice(dead)} {' '.join(random.sample(own, 2))}"
        return "pass" if kind == "pass" else f"kill {random.choice(living)}"

    def step(
        self, state: State, moves: Mapping[int, Json | Verdict], chance: Random | Json
    ) -> tuple[State, Json]:
        """The position after a half round. It draws no chance, so its event is ``{}``.

        A fault changes nothing on the board. After TIMEOUT or ERROR no later answer does. The
        generation passes all the same. Raises GameError for a seat without a move or fault.
        """
        rules, number, seat, cells, told, standing = state
        if not isinstance(chance, Random) and chance:
            raise GameError(f"chance: a half round has none, got {chance!r:.100}")
        if seat is None:
            raise GameError("the game is over")
        move, stands, text = moves.get(seat), standing[seat], NO_MOVE
        is_inert = stands in (Verdict.TIMEOUT, Verdict.ERROR)
        zero, one = cells
        if isinstance(move, Verdict):
            if not move.is_fault:
                raise GameError(f"seat {seat}: needs a move or a fault, got {move!r:.100}")
            if not is_inert and not (move is Verdict.INVALID and stands is Verdict.DONE):
                stands = move
        elif not is_inert:
            text, gone, born = _parse_move(state, seat, move)
            text, stands = text.replace(" ", "_"), Verdict.DONE
            zero, one = zero & ~gone, one & ~gone
            if seat == 0:
                zero |= born
            else:
                one |= born
        zero, one = next_generation(zero, one, rules)
        following: int | None = 1 - seat
        if not (zero and one) or (seat == 1 and number >= rules.max_rounds):
            following = None
        elif seat == 1:
            number += 1
        return (
            State(
                rules,
                number,
                following,
                (zero, one),
                (text, told[1]) if seat == 0 else (told[0], text),
                (stands, standing[1]) if seat == 0 else (standing[0], stands),
            ),
            {},
        )

    def outcome(self, state: State) -> Outcome | None:
        """1 for a player alone on the board, else half a point each. A fault forfeits nothing.

        A seat's verdict is TIMEOUT or ERROR if it went inert, INVALID if no answer was a move.
        """
        if state.seat is not None:
            return None
        zero, one = (bool(side) for side in state.cells)
        rewards = (0.5, 0.5) if zero == one else (float(zero), float(one))
        zero_stands, one_stands = (
            verdict if verdict.is_fault else Verdict.DONE for verdict in state.standing
        )
        return Outcome(
            placements=placements_from_scores(rewards),
            rewards=rewards,
            verdicts=(zero_stands, one_stands),
        )

    def frame(self, state: State) -> dict[str, Json]:
        """The board in rows from the top, one letter per cell. ``to_move`` is null after the
        end.
        """
        width, letters = state.rules.width, "".join(_cell_letters(state))
        return {
            "round": state.round,
            "width": width,
            "height": state.rules.height,
            "field": [letters[start : start + width] for start in range(0, len(letters), width)],
            "to_move": state.seat,
        }


def _cell_letters(state: State) -> list[str]:
    """``.``, ``0`` or ``1`` for each cell, row after row."""
    rules = state.rules
    bits = rules.stride * rules.height
    zero, one = (format(side, f"0{bits}b")[::-1] for side in state.cells)
    letters = [LETTERS[pair] for pair in zip(zero, one, strict=True)]
    del letters[rules.width :: rules.stride]
    return letters


def _parse_move(state: State, seat: int, raw: Json) -> Change:
    """The move of this text in this position. Raises InvalidMove."""
    if not isinstance(raw, str):
        raise InvalidMove(f"{SYNTAX}, got {raw!r:.100}")
    # Each single space separates words, so a double space makes an empty word.
    word, *places = raw.rstrip().split(" ")
    word = word.lower()
    if word in PASSES:
        return Change("pass", 0, 0)
    points = [_parse_point(raw, place) for place in places]
    rules, cells = state.rules, state.cells
    if word == "kill" and len(points) == 1:
        target = points[0]
        bit = _bit_on_board(rules, target)
        if not (cells[0] | cells[1]) & bit:
            raise InvalidMove(f"kill: {_point_text(target)} is dead already")
        return Change(f"kill {_point_text(target)}", bit, 0)
    if word == "birth" and len(points) == 3:
        target, *given_up = points
        born = _bit_on_board(rules, target)
        if (cells[0] | cells[1]) & born:
            raise InvalidMove(f"birth: {_point_text(target)} is alive already")
        gone = []
        for point in given_up:
            gone.append(_bit_on_board(rules, point))
            if not cells[seat] & gone[-1]:
                raise InvalidMove(f"birth: {_point_text(point)} is no living cell of your own")
        if gone[0] == gone[1]:
            raise InvalidMove(f"birth: {_point_text(given_up[0])} cannot be given up twice")
        return Change(f"birth {' '.join(map(_point_text, points))}", gone[0] | gone[1], born)
    raise InvalidMove(f"{SYNTAX}, got {raw!r:.100}")


def _parse_point(raw: str, place: str) -> tuple[int, int]:
    found = COORDINATE.fullmatch(place)
    if found is None:
        raise InvalidMove(f"{SYNTAX}, got {raw!r:.100}")
    return int(found[1]), int(found[2])


def _bit_on_board(rules: Rules, point: tuple[int, int]) -> int:
    x, y = point
    if not (0 <= x < rules.width and 0 <= y < rules.height):
        raise InvalidMove(f"{_point_text(point)} is off the board of {rules.width}x{rules.height}")
    return cell_bit(rules, x, y)


def _point_text(point: tuple[int, int]) -> str:
    return f"{point[0]},{point[1]}"


GAME = Golad()
