"""The questions that a seat was asked in a recorded episode, and where other answers differ.

So one's own agent can be run through a seat that somebody played: it gets the recorded observations
and its moves are compared with the recorded ones. Its answers change nothing in the episode.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from games.episode import Episode, EpisodeError, as_json, states
from games.protocol import Game, Json, S


@dataclass(frozen=True, slots=True)
class Question:
    """One recorded question to a seat."""

    step: int
    """1 is the first step of the episode."""
    state: Any
    """The state in which the seat was asked; ``Game.parse`` needs it."""
    observation: Mapping[str, Json]
    move: Json
    """The recorded move in its canonical form, or ``{"fault": "TIMEOUT"}``."""
    bank_seconds: float
    """The bank before the answer. Never below zero."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A step in which the answer was not the recorded one."""

    step: int
    observation: Mapping[str, Json]
    recorded: Json
    own: Json


def questions(game: Game[S], episode: Episode, seat: int) -> Iterator[Question]:
    """Every question to the seat, in order.

    Raises EpisodeError if there is no such seat, or if the record does not fit the rules.
    """
    if not 0 <= seat < episode.seats:
        raise EpisodeError(f"seat: give 0 to {episode.seats - 1}; this episode has no seat {seat}")
    bank = float(episode.clock.get("bank_seconds") or 0.0)
    for number, (state, step) in enumerate(
        zip(states(game, episode), episode.steps, strict=False), start=1
    ):
        if step.charged_seconds[seat] is not None:
            seen = game.observe(state, seat)
            yield Question(number, state, seen, step.moves[seat], max(0.0, bank))
        left = step.bank_seconds[seat]
        bank = bank if left is None else left


def bank_before(episode: Episode, seat: int, step: int) -> float:
    """The bank of a seat before its answer in this step, in seconds. Never below zero."""
    known = (one.bank_seconds[seat] for one in reversed(episode.steps[: step - 1]))
    left = next((bank for bank in known if bank is not None), None)
    return max(0.0, float(episode.clock.get("bank_seconds") or 0.0) if left is None else left)


def differences(
    game: Game[S], episode: Episode, seat: int, answer: Callable[[Question], Json]
) -> Iterator[Difference]:
    """The steps in which ``answer`` gives another move than the record, in order.

    ``answer`` gets each question in turn, also after a difference, and returns a move in its
    canonical form or a fault such as ``{"fault": "ERROR"}``.
    """
    for question in questions(game, episode, seat):
        own = as_json(answer(question))
        if own != question.move:
            yield Difference(question.step, question.observation, question.move, own)
