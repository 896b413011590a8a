"""Records an episode: enough to play it again exactly, and nothing about who played.

The replay blob is public. It is gzip of one JSON object, ``{"format": "peck-replay/1", ...}``, with
the fields of :class:`Episode`. Equal episodes give equal bytes. It has no names and no seed. Its
only times are charges and banks.

``check_episode`` checks that a record is what the rules give: its chance, moves and outcome. The
rules and the seed decide all of it except the moves, the faults and the times of the agents.
"""

from __future__ import annotations

import gzip
import json
import math
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from games.protocol import Game, GameError, Json, Outcome, S, Verdict

FORMAT = "peck-replay/1"
MAX_BYTES = 64 * 1024 * 1024
"""Largest unpacked replay that is read. A four-player episode of Hungry Geese has about 30 kB."""


class EpisodeError(GameError):
    """These bytes are no replay, or the rules do not allow it."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the referee. Tuples are indexed by seat."""

    moves: tuple[Json, ...]
    """Canonical move, ``{"fault": "ERROR"}``, or None if the seat was not asked."""
    chance: Json
    charged_seconds: tuple[float | None, ...]
    """Charge of the move. None if the seat was not asked."""
    bank_seconds: tuple[float | None, ...]
    """Bank after the move. Below zero with a TIMEOUT."""


@dataclass(frozen=True, slots=True)
class Episode:
    """One episode from reset to end."""

    game: str
    version: str
    configuration: dict[str, Json]
    clock: dict[str, Json]
    seats: int
    chance: Json
    """The chance events of the reset."""
    steps: tuple[Step, ...]
    placements: tuple[int, ...]
    rewards: tuple[float | None, ...]
    verdicts: tuple[str, ...]


def to_bytes(episode: Episode) -> bytes:
    """The replay blob. Equal episodes give equal bytes."""
    document = {
        **start_document(episode),
        "steps": [step_document(step) for step in episode.steps],
        "placements": episode.placements,
        "rewards": episode.rewards,
        "verdicts": episode.verdicts,
    }
    text = json.dumps(document, separators=(",", ":"), allow_nan=False)
    return gzip.compress(text.encode(), mtime=0)


def start_document(episode: Episode) -> dict[str, Json]:
    """What is known of an episode before its first step, as in the replay."""
    return {
        "format": FORMAT,
        "game": episode.game,
        "version": episode.version,
        "configuration": episode.configuration,
        "clock": episode.clock,
        "seats": episode.seats,
        "chance": episode.chance,
    }


def step_document(step: Step, *, with_times: bool = True) -> dict[str, Json]:
    """A step as in the replay; without times each seat has null instead."""
    nothing = (None,) * len(step.moves)
    return {
        "moves": step.moves,
        "chance": step.chance,
        "charged_seconds": step.charged_seconds if with_times else nothing,
        "bank_seconds": step.bank_seconds if with_times else nothing,
    }


def from_bytes(blob: bytes, most_bytes: int = MAX_BYTES) -> Episode:
    """The episode of a replay blob of at most ``most_bytes`` unpacked. Raises EpisodeError naming
    the wrong field."""
    return from_document(_decompress(blob, most_bytes))


def from_document(document: Mapping[str, Any]) -> Episode:
    """The episode of a replay's JSON object, as the API returns it. Raises EpisodeError."""
    start = read_start(document)
    return replace(
        start,
        steps=tuple(read_step(step, start.seats) for step in _read_field(document, "steps", list)),
        placements=_read_per_seat(document, "placements", start.seats),
        rewards=_read_per_seat(document, "rewards", start.seats),
        verdicts=_read_per_seat(document, "verdicts", start.seats),
    )


def read_start(document: Mapping[str, Any]) -> Episode:
    """The episode of `start_document`: without steps and result. Raises EpisodeError."""
    if document.get("format") != FORMAT:
        raise EpisodeError(f"format: expected {FORMAT}, got {document.get('format')!r:.100}")
    seats = _read_field(document, "seats", int)
    return Episode(
        game=_read_field(document, "game", str),
        version=_read_field(document, "version", str),
        configuration=_read_field(document, "configuration", dict),
        clock=_read_field(document, "clock", dict),
        seats=seats,
        chance=document.get("chance"),
        steps=(),
        placements=(),
        rewards=(),
        verdicts=(),
    )


def read_step(document: Mapping[str, Any], seats: int) -> Step:
    """The step of `step_document`. Raises EpisodeError."""
    return Step(
        moves=_read_per_seat(document, "moves", seats),
        chance=document.get("chance"),
        charged_seconds=_read_seconds(document, "charged_seconds", seats),
        bank_seconds=_read_seconds(document, "bank_seconds", seats),
    )


def states(game: Game[S], episode: Episode) -> Iterator[S]:
    """Every state from the first to the last, computed from the recorded moves and chance.

    Raises EpisodeError if the record does not fit the rules.
    """
    number = 0
    try:
        state, _ = game.reset(episode.configuration, episode.seats, episode.chance)
        yield state
        for number, step in enumerate(episode.steps, start=1):  # noqa: B007 (told in the error)
            state = next_state(game, state, step)
            yield state
    except (GameError, LookupError, TypeError, ValueError, AttributeError) as error:
        raise EpisodeError(f"step {number}: {error}") from error


def recorded_moves(game: Game[S], state: S, step: Step) -> dict[int, Json | Verdict]:
    """The moves and faults of a step, as ``Game.step`` takes them. Raises GameError, ValueError."""
    return {seat: _parse_recorded_move(game, state, seat, step) for seat in game.to_move(state)}


def next_state(game: Game[S], state: S, step: Step) -> S:
    """The state after a recorded step. Raises GameError, KeyError, TypeError or ValueError."""
    return game.step(state, recorded_moves(game, state, step), step.chance)[0]


def _parse_recorded_move(game: Game[S], state: S, seat: int, step: Step) -> Json | Verdict:
    move = step.moves[seat]
    if move is None:
        raise EpisodeError(f"seat {seat} had to move and has none")
    if isinstance(move, Mapping) and "fault" in move:
        return Verdict(move["fault"])
    return game.parse(state, seat, move)


def _decompress(blob: bytes, most_bytes: int) -> dict[str, Any]:
    try:
        document = json.loads(unpack(blob, most_bytes))
    except (ValueError, RecursionError) as error:
        raise EpisodeError(f"replay: not the gzip of a JSON text ({error})") from error
    if not isinstance(document, dict):
        raise EpisodeError("replay: not a JSON object")
    return document


def _read_field(document: Mapping[str, Any], name: str, kind: type[Any]) -> Any:
    value = document.get(name)
    if not isinstance(value, kind):
        raise EpisodeError(f"{name}: expected {kind.__name__}, got {value!r:.100}")
    return value


def _read_per_seat(document: Json, name: str, seats: int) -> tuple[Any, ...]:
    if not isinstance(document, Mapping):
        raise EpisodeError(f"steps: expected an object with {name}, got {document!r:.100}")
    values = _read_field(document, name, list)
    if len(values) != seats:
        raise EpisodeError(f"{name}: expected one for each of {seats} seats, got {len(values)}")
    return tuple(values)


def _read_seconds(document: Json, name: str, seats: int) -> tuple[float | None, ...]:
    values = _read_per_seat(document, name, seats)
    for value in values:
        if value is not None and type(value) not in (int, float):
            raise EpisodeError(f"{name}: expected numbers or null, got {value!r:.100}")
    return values


def first_different_move(one: Episode, other: Episode, seat: int) -> int | None:
    """The first step in which this seat chose differently in the two episodes; 1 is the first step.

    None if it never did. A longer episode differs where the shorter one ends.
    """
    for number, (left, right) in enumerate(zip(one.steps, other.steps, strict=False), start=1):
        if left.moves[seat] != right.moves[seat]:
            return number
    shorter = min(len(one.steps), len(other.steps))
    return None if len(one.steps) == len(other.steps) else shorter + 1


def unpack(packed: bytes, most_bytes: int) -> bytes:
    """The bytes in a gzip. Raises ValueError if it is no gzip, if there are more bytes, or if
    something follows."""
    unzip = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    try:
        content = unzip.decompress(packed, most_bytes)
    except zlib.error as error:
        raise ValueError(f"not a gzip ({error})") from error
    if not unzip.eof:
        raise ValueError(f"cut short, or more than {most_bytes} bytes unpacked")
    if unzip.unused_data:
        raise ValueError("something follows the gzip")
    return content


def check_episode(game: Game[Any], episode: Episode, chance: Random) -> Outcome:
    """Plays the recorded moves again with the match's own chance; returns the outcome.

    Raises EpisodeError if the record has other chance, impossible moves, or another outcome, or if
    it does not end with the game.
    """
    try:
        return _check(game, episode, chance)
    except EpisodeError:
        raise
    except Exception as error:  # rules may raise anything for values that no agent can give
        raise EpisodeError(f"the rules refuse it: {type(error).__name__}") from error


def _check(game: Game[Any], episode: Episode, random: Random) -> Outcome:
    state, chance = game.reset(episode.configuration, episode.seats, random)
    _require(as_json(chance) == episode.chance, "another start than the seed gives")
    out: dict[int, Verdict] = {}
    for number, step in enumerate(episode.steps, start=1):
        to_move = game.to_move(state)
        _require(bool(to_move), f"step {number}: the game was over")
        moves = _moves(game, state, step, number, out)
        state, chance = game.step(state, moves, random)
        _require(as_json(chance) == step.chance, f"step {number}: other chance than the seed's")
    _require(not game.to_move(state), "the game was not over")
    outcome = game.outcome(state)
    if outcome is None:
        raise EpisodeError("the game has no outcome")
    _require(tuple(outcome.placements) == episode.placements, "other placements")
    _require(as_json(outcome.rewards) == list(episode.rewards), "other rewards")
    _require(tuple(map(str, outcome.verdicts)) == episode.verdicts, "other verdicts")
    return outcome


def _moves(
    game: Game[Any], state: Any, step: Step, number: int, out: dict[int, Verdict]
) -> dict[int, Json | Verdict]:
    """The moves of a step. ``out`` has the faults of seats that are not asked again."""
    to_move = set(game.to_move(state))
    moves: dict[int, Json | Verdict] = {}
    for seat, recorded in enumerate(step.moves):
        where = f"step {number}, seat {seat}"
        _check_time(step, seat, where)
        if seat not in to_move:
            _require(recorded is None, f"{where}: a move out of turn")
            continue
        _require(recorded is not None, f"{where}: no move")
        if isinstance(recorded, dict) and "fault" in recorded:
            fault = Verdict(recorded["fault"])
            _require(fault.is_fault, f"{where}: no fault")
            _require(out.get(seat, fault) is fault, f"{where}: another fault than before")
            if fault not in game.lenient:
                out[seat] = fault
            moves[seat] = fault
            continue
        _require(seat not in out, f"{where}: a move after a fault")
        moves[seat] = game.parse(state, seat, recorded)
        _require(as_json(moves[seat]) == recorded, f"{where}: a move in another form")
    return moves


def _check_time(step: Step, seat: int, where: str) -> None:
    charged = step.charged_seconds[seat]
    if charged is not None:
        is_number = isinstance(charged, int | float) and not isinstance(charged, bool)
        _require(is_number and math.isfinite(charged) and charged >= 0, f"{where}: no time")


def as_json(value: Json | Verdict) -> Json:
    """The value as a record has it. A fault is an object."""
    return json.loads(json.dumps(move_json(value)))


def move_json(move: Json | Verdict) -> Json:
    """A move or a fault, as a record has it."""
    return {"fault": str(move)} if isinstance(move, Verdict) else move


def _require(holds: bool, reason: str) -> None:
    if not holds:
        raise EpisodeError(reason)
