"""An episode as frames for viewers, for games without a format of their own.

``frames[0]`` is the start, ``frames[n]`` the position after ``steps[n - 1]``. The game decides what
a frame holds (``Game.frame``). Steps are alike in all games. ``placements``, ``rewards`` and
``verdicts`` are null while the episode is being played. Then steps come in as
``games.episode.step_document`` writes them, and JSON texts come out.

Every player can draw a board of cells, tokens on it, and a text. A game uses this format in
``Game.frame``; all keys are optional, and further keys are left alone:

- ``board``: ``{"columns": 8, "rows": 8}``, with ``"wraps": true`` if tokens leave at one edge and
  enter at the opposite one.
- ``tokens``: each ``{"shape": "disc", "cell": [column, row]}``. Rows count downwards from 0. A
  token may have the ``seat`` that it belongs to, and a ``text`` of up to 4 characters. The shape
  ``body`` has ``cells`` from head to tail instead of ``cell``.
- ``text``: what to say about the position, in plain text of several lines.
- ``seats``: for each seat ``{"value": 3, "note": "holds 1 4 5", "out": false}``.

``board_frame`` brings the frames of this repository's games into the format, for pictures.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from games import GAMES
from games.episode import Episode, EpisodeError, Step, next_state, read_start, read_step, states
from games.protocol import Game, GameError, Json

SHAPES: Final = ("disc", "square", "ring", "cross", "food", "wall", "hazard", "body")
MOST_CELLS: Final = 256
"""Most columns, and most rows."""
MOST_TOKENS: Final = 65_536
MOST_TEXT: Final = 4_000
"""Most characters of a frame's text."""
MOST_LABEL: Final = 4
MOST_NOTE: Final = 200
KEYS: Final = frozenset({"board", "tokens", "text"})

Cell = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Token:
    """A thing on the board. Cells are (column, row); a body's first cell is its head."""

    shape: str
    cells: tuple[Cell, ...]
    seat: int | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class BoardFrame:
    """A frame in this format."""

    columns: int
    """0 without a board."""
    rows: int
    wraps: bool
    tokens: tuple[Token, ...]
    text: str
    values: tuple[float, ...]
    """What each seat has. Empty if the frame does not say it."""


def uses_format(frame: Mapping[str, Json]) -> bool:
    """Whether the frame has a key of the format."""
    return not KEYS.isdisjoint(frame)


def parse_frame(frame: Mapping[str, Json], seats: int) -> BoardFrame:
    """The frame, checked. Raises GameError, whose ``field`` names the wrong part."""
    board = frame.get("board")
    columns = rows = 0
    wraps = False
    if board is not None:
        _require(isinstance(board, Mapping), "board", "expected columns and rows")
        columns, rows = (_count(board, name) for name in ("columns", "rows"))
        wraps = board.get("wraps", False)
        _require(isinstance(wraps, bool), "board.wraps", "expected true or false")
    tokens = frame.get("tokens", [])
    _require(_is_list(tokens) and len(tokens) <= MOST_TOKENS, "tokens", "expected a list")
    _require(not tokens or columns > 0, "board", "tokens need a board")
    text = frame.get("text", "")
    _require(isinstance(text, str) and len(text) <= MOST_TEXT, "text", "expected a short text")
    told = frame.get("seats")
    return BoardFrame(
        columns,
        rows,
        wraps,
        tuple(
            _token(one, f"tokens[{place}]", (columns, rows), seats)
            for place, one in enumerate(tokens)
        ),
        text,
        () if told is None else _values(told, seats),
    )


def board_frame(
    game: str, configuration: Mapping[str, Json], frame: Mapping[str, Json], seats: int
) -> BoardFrame:
    """The frame of any game in this format. Raises GameError if an outside game's is malformed."""
    if game == "hungry_geese":
        return _geese(frame, configuration["columns"], configuration["rows"])
    convert = CONVERTERS.get(game)
    if convert is not None:
        return convert(frame)
    if uses_format(frame):
        return parse_frame(frame, seats)
    return BoardFrame(0, 0, False, (), "", ())


def _token(one: Any, field: str, size: Cell, seats: int) -> Token:
    _require(isinstance(one, Mapping), field, "expected an object")
    shape = one.get("shape", "disc")
    _require(shape in SHAPES, f"{field}.shape", f"expected one of {', '.join(SHAPES)}")
    given = one.get("cells", []) if shape == "body" else [one.get("cell")]
    _require(_is_list(given) and len(given) > 0, f"{field}.cells", "expected cells")
    cells = tuple(_cell(cell, field, size) for cell in given)
    seat = one.get("seat")
    _require(seat is None or (_is_int(seat) and 0 <= seat < seats), f"{field}.seat", "no such seat")
    text = one.get("text", "")
    _require(isinstance(text, str) and len(text) <= MOST_LABEL, f"{field}.text", "is too long")
    return Token(shape, cells, seat, text)


def _cell(cell: Any, field: str, size: Cell) -> Cell:
    fits = _is_list(cell) and len(cell) == 2 and all(map(_is_int, cell))
    _require(fits, f"{field}.cell", "expected [column, row]")
    column, row = cell
    _require(0 <= column < size[0] and 0 <= row < size[1], f"{field}.cell", "is off the board")
    return column, row


def _values(told: Any, seats: int) -> tuple[float, ...]:
    _require(_is_list(told) and len(told) == seats, "seats", f"expected {seats} seats")
    values = []
    for seat, one in enumerate(told):
        field = f"seats[{seat}]"
        _require(isinstance(one, Mapping), field, "expected an object")
        value, note = one.get("value", 0), one.get("note", "")
        number = isinstance(value, int | float) and not isinstance(value, bool)
        _require(number, f"{field}.value", "expected a number")
        _require(isinstance(note, str) and len(note) <= MOST_NOTE, f"{field}.note", "is too long")
        _require(isinstance(one.get("out", False), bool), f"{field}.out", "expected true or false")
        values.append(float(value))
    return tuple(values)


def _count(board: Mapping[str, Any], name: str) -> int:
    value: Any = board.get(name)
    fits = _is_int(value) and 1 <= value <= MOST_CELLS
    _require(fits, f"board.{name}", f"expected 1 to {MOST_CELLS}")
    return int(value)


def _require(holds: bool, field: str, message: str) -> None:
    if not holds:
        raise GameError(message, field=field)


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _geese(frame: Mapping[str, Any], columns: int, rows: int) -> BoardFrame:
    def place(cell: int) -> Cell:
        return cell % columns, cell // columns

    tokens = [Token("food", (place(cell),)) for cell in frame["food"]]
    tokens += [
        Token("body", tuple(map(place, body)), seat)
        for seat, body in enumerate(frame["geese"])
        if body
    ]
    values = tuple(float(len(body)) for body in frame["geese"])
    return BoardFrame(columns, rows, True, tuple(tokens), "", values)


def _battlesnake(frame: Mapping[str, Any]) -> BoardFrame:
    height = frame["height"]

    def place(cell: Sequence[int]) -> Cell:
        return cell[0], height - 1 - cell[1]

    tokens = [Token("hazard", (place(cell),)) for cell in frame["hazards"]]
    tokens += [Token("food", (place(cell),)) for cell in frame["food"]]
    tokens += [
        Token("body", tuple(map(place, snake["body"])), seat)
        for seat, snake in enumerate(frame["snakes"])
        if snake["cause"] is None
    ]
    values = tuple(
        float(len(snake["body"])) if snake["cause"] is None else 0.0 for snake in frame["snakes"]
    )
    return BoardFrame(frame["width"], height, False, tuple(tokens), "", values)


def _golad(frame: Mapping[str, Any]) -> BoardFrame:
    tokens = [
        Token("square" if letter == "0" else "disc", ((column, row),), int(letter))
        for row, line in enumerate(frame["field"])
        for column, letter in enumerate(line)
        if letter != "."
    ]
    values = tuple(float(sum(one.seat == seat for one in tokens)) for seat in (0, 1))
    return BoardFrame(frame["width"], frame["height"], False, tuple(tokens), "", values)


def _snake(frame: Mapping[str, Any]) -> BoardFrame:
    apple = frame["apple"]
    tokens = [] if apple is None else [Token("food", ((apple[0], apple[1]),))]
    body = tuple((cell[0], cell[1]) for cell in frame["snake"])
    tokens.append(Token("body", body, 0))
    return BoardFrame(
        frame["width"], frame["height"], False, tuple(tokens), "", (float(len(body)),)
    )


CONVERTERS: Final[Mapping[str, Callable[[Mapping[str, Any]], BoardFrame]]] = {
    "battlesnake": _battlesnake,
    "golad": _golad,
    "snake": _snake,
}


FORMAT = "peck-frames/1"


def frames_json(episode: Episode) -> dict[str, Json]:
    """The document of an episode. Raises GameError for an unknown game."""
    game: Game[Any] | None = GAMES.get(episode.game)
    if game is None:
        raise GameError(f"game: {episode.game!r:.100} is unknown here")
    return {
        **head(episode),
        "frames": [game.frame(state) for state in states(game, episode)],
        "steps": [shown_step(step) for step in episode.steps],
        "placements": list(episode.placements) or None,
        "rewards": list(episode.rewards) or None,
        "verdicts": list(episode.verdicts) or None,
    }


def head(episode: Episode) -> dict[str, Json]:
    """The fields of the document that never change while the episode is played."""
    return {
        "format": FORMAT,
        "game": episode.game,
        "version": episode.version,
        "configuration": dict(episode.configuration),
        "clock": dict(episode.clock),
        "seats": episode.seats,
    }


def shown_step(step: Step) -> dict[str, Json]:
    """Moves and faults as separate tuples by seat. A missing one is null."""
    faults = [
        move["fault"] if isinstance(move, Mapping) and "fault" in move else None
        for move in step.moves
    ]
    return {
        "moves": [None if fault else move for move, fault in zip(step.moves, faults, strict=True)],
        "faults": faults,
        "charged_seconds": list(step.charged_seconds),
        "bank_seconds": list(step.bank_seconds),
    }


class LiveFrames:
    """The frames of one episode so far. One thread may add while others read."""

    def __init__(self, start: Mapping[str, Json]) -> None:
        """Begins with ``start``, made by `start_document`. Raises GameError."""
        self._episode = read_start(start)
        game: Game[Any] | None = GAMES.get(self._episode.game)
        if game is None:
            raise GameError(f"game: {self._episode.game!r:.100} is unknown here")
        self._game = game
        self._state, _ = game.reset(
            self._episode.configuration, self._episode.seats, self._episode.chance
        )
        self._head = _text(head(self._episode))
        self._steps: list[str] = []
        self._frames = [_text(game.frame(self._state))]
        self.size = len(self._head) + len(self._frames[0])
        """Characters of all texts."""

    def __len__(self) -> int:
        return len(self._frames)

    def add(self, document: Mapping[str, Json]) -> None:
        """Adds a step, made by `step_document`. Raises EpisodeError."""
        try:
            step = read_step(document, self._episode.seats)
            self._state = next_state(self._game, self._state, step)
            frame, shown = _text(self._game.frame(self._state)), _text(shown_step(step))
        except (GameError, KeyError, TypeError, ValueError) as error:
            raise EpisodeError(f"step {len(self)}: {error}") from error
        self._steps.append(shown)
        self._frames.append(frame)  # last: readers count frames
        self.size += len(frame) + len(shown)

    def end_within(self, first: int, end: int, characters: int) -> int:
        """The end of a piece from frame ``first`` on: at most so many characters and up to ``end``,
        but at least one frame."""
        reached, size = first + 1, self._length(first)
        while reached < end and (size := size + self._length(reached)) <= characters:
            reached += 1
        return reached

    def _length(self, number: int) -> int:
        before = self._steps[number - 1] if number else self._head
        return len(self._frames[number]) + len(before)

    def cut(self, first: int, end: int) -> str:
        """The frames from number ``first`` up to, not including, ``end``, and the steps to them.

        From 0 on it is the document of `frames_json` without a result, and ``first``. From a later
        frame on it has ``first``, ``frames`` and ``steps`` alone.
        """
        shown = ",".join(self._frames[first:end])
        steps = ",".join(self._steps[max(0, first - 1) : max(0, end - 1)])
        growth = f'"first":{first},"frames":[{shown}],"steps":[{steps}]'
        if first:
            return f"{{{growth}}}"
        return f'{self._head[:-1]},{growth},"placements":null,"rewards":null,"verdicts":null}}'


def _text(value: Json) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)
