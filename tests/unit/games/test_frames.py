"""Frames of an episode: one a position, and what each step had beside them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from games import GAMES
from games.episode import Episode, Step
from games.frames import frames_json
from games.protocol import GameError, Verdict
from tests.unit.games.snakes import play

GAME = GAMES["battlesnake"]


def episode(seed: int) -> tuple[Episode, list[Any]]:
    """A recorded game of Battlesnake, and its states."""
    configuration = GAME.configure({"maxTurns": 40})
    states, events, moves = play(configuration, 3, seed)

    def recorded(asked: dict[int, Any], seat: int) -> Any:
        move = asked.get(seat)
        return {"fault": str(move)} if isinstance(move, Verdict) else move

    outcome = GAME.outcome(states[-1])
    assert outcome is not None
    steps = tuple(
        Step(
            moves=tuple(recorded(asked, seat) for seat in range(3)),
            chance=event,
            charged_seconds=tuple(0.25 if seat in asked else None for seat in range(3)),
            bank_seconds=tuple(0.0 if seat in asked else None for seat in range(3)),
        )
        for asked, event in zip(moves, events[1:], strict=True)
    )
    return Episode(
        game=GAME.name,
        version=GAME.version,
        configuration=configuration,
        clock=dict(GAME.clock),
        seats=3,
        chance=events[0],
        steps=steps,
        placements=outcome.placements,
        rewards=outcome.rewards,
        verdicts=tuple(map(str, outcome.verdicts)),
    ), states


@pytest.mark.parametrize("seed", range(5))
def test_the_frames_document_has_one_frame_per_position(seed: int) -> None:
    recorded, states = episode(seed)
    document = frames_json(recorded)
    assert json.loads(json.dumps(document)) == document
    assert document["frames"] == [GAME.frame(state) for state in states]
    assert len(document["steps"]) == len(states) - 1
    for told, step in zip(document["steps"], recorded.steps, strict=True):
        assert told["charged_seconds"] == list(step.charged_seconds)
        assert told["bank_seconds"] == list(step.bank_seconds)
        for move, fault, kept in zip(told["moves"], told["faults"], step.moves, strict=True):
            assert kept == ({"fault": fault} if fault else move)
    assert document["placements"] == list(recorded.placements)


def test_frames_of_an_unknown_game_are_refused() -> None:
    with pytest.raises(GameError, match="'chess' is unknown here"):
        frames_json(replace(episode(1)[0], game="chess"))
