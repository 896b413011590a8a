"""Continues a recorded episode from one of its steps.

The steps before the fork are the recorded ones, so the fork begins in exactly the recorded state.
With the seed's generator the fork also draws chance as the record did: the same moves then give the
same states.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from random import Random

from games.episode import Episode, EpisodeError, recorded_moves
from games.protocol import Game, GameError, InvalidMove, Json, S, Verdict


@dataclass(frozen=True, slots=True)
class Fork:
    """Where a fork begins, and what it takes from the record."""

    episode: Episode
    step: int
    """Number of recorded steps before the fork; 0 is the start."""
    seed: bytes | None = None
    """Seed of the record: its draws go on. None: new draws after the fork."""
    moves: Mapping[int, tuple[Json, ...]] = field(default_factory=dict)
    """Moves by hand: the first moves of a seat after the fork, by seat."""


def check_fork(game: Game[S], fork: Fork) -> S:
    """The state in which the fork begins.

    Raises EpisodeError or InvalidMove if the fork is not possible: the step is outside the record,
    the game is over there, or a seat's first move by hand is refused.
    """
    episode = fork.episode
    if not 0 <= fork.step < len(episode.steps):
        last = len(episode.steps) - 1
        raise EpisodeError(f"step: give 0 to {last}; the game is over after step {last + 1}")
    state = last_state(game, fork)
    for seat, moves in fork.moves.items():
        if not 0 <= seat < episode.seats:
            raise EpisodeError(f"moves: this episode has no seat {seat}")
        if moves and seat in game.to_move(state):
            try:
                game.parse(state, seat, moves[0])
            except GameError as error:
                raise InvalidMove(str(error), field=f"moves.{seat}") from None
    return state


def last_state(game: Game[S], fork: Fork) -> S:
    """The state in which the fork begins. Raises EpisodeError."""
    ((_, state),) = deque(recorded_states(game, fork, None), maxlen=1)  # keeps one at a time
    return state


def recorded_states(game: Game[S], fork: Fork, random: Random | None) -> Iterator[tuple[int, S]]:
    """The recorded states from the start to the fork, with the number of steps before each.

    ``random`` is the generator of the record's seed before its first draw. After the last state it
    stands as it stood in the record. Without it the recorded chance is taken.

    Raises EpisodeError if the record does not fit the rules or the seed.
    """
    number, episode = 0, fork.episode
    try:
        state, drawn = game.reset(
            episode.configuration, episode.seats, episode.chance if random is None else random
        )
        _check_draw(drawn, episode.chance, random)
        yield number, state
        for number, step in enumerate(episode.steps[: fork.step], start=1):
            moves = recorded_moves(game, state, step)
            state, drawn = game.step(state, moves, step.chance if random is None else random)
            _check_draw(drawn, step.chance, random)
            yield number, state
    except (GameError, KeyError, TypeError, ValueError) as error:
        raise EpisodeError(f"step {number}: {error}") from error


def moves_after(
    game: Game[S], state: S, moves: Mapping[int, Json], given: Mapping[int, list[Json]]
) -> dict[int, Json | Verdict]:
    """The moves of a step after the fork, where moves by hand replace the seats' own answers.

    Takes the first move of each seat in ``moves`` from its list in ``given``. A move that the game
    refuses is INVALID.
    """
    chosen = dict(moves)
    for seat in moves:
        if given.get(seat):
            try:
                chosen[seat] = game.parse(state, seat, given[seat].pop(0))
            except GameError:
                chosen[seat] = Verdict.INVALID
    return chosen


def _check_draw(drawn: Json, recorded: Json, random: Random | None) -> None:
    if random is not None and json.dumps(drawn) != json.dumps(recorded):
        raise EpisodeError("the seed is not the seed of this record")
