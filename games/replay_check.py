"""Checks that a record is what the rules give: its chance, its moves and its outcome.

A machine that is not trusted sends the replay of its match. The rules and the seed decide all of it
except the moves, the faults and the times of the agents.
"""

from __future__ import annotations

import json
import math
from random import Random
from typing import Any

from games.episode import Episode, EpisodeError, Step
from games.protocol import Game, Json, Outcome, Verdict


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
    _require(_as_json(chance) == episode.chance, "another start than the seed gives")
    out: dict[int, Verdict] = {}
    for number, step in enumerate(episode.steps, start=1):
        to_move = game.to_move(state)
        _require(bool(to_move), f"step {number}: the game was over")
        moves = _moves(game, state, step, number, out)
        state, chance = game.step(state, moves, random)
        _require(_as_json(chance) == step.chance, f"step {number}: other chance than the seed's")
    _require(not game.to_move(state), "the game was not over")
    outcome = game.outcome(state)
    if outcome is None:
        raise EpisodeError("the game has no outcome")
    _require(tuple(outcome.placements) == episode.placements, "other placements")
    _require(_as_json(outcome.rewards) == list(episode.rewards), "other rewards")
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
        _require(_as_json(moves[seat]) == recorded, f"{where}: a move in another form")
    return moves


def _check_time(step: Step, seat: int, where: str) -> None:
    charged = step.charged_seconds[seat]
    if charged is not None:
        is_number = isinstance(charged, int | float) and not isinstance(charged, bool)
        _require(is_number and math.isfinite(charged) and charged >= 0, f"{where}: no time")


def _as_json(value: Json) -> Json:
    """The value as a record has it."""
    return json.loads(json.dumps(value))


def _require(holds: bool, reason: str) -> None:
    if not holds:
        raise EpisodeError(reason)
