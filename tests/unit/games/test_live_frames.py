"""Frames of an episode that grows, against the frames of its replay."""

from __future__ import annotations

import json
from typing import Any

import pytest

from games import GAMES
from games.episode import EpisodeError, start_document, step_document
from games.frames import LiveFrames, frames_json
from games.protocol import GameError, hides_something
from tests.unit.games.random_play import play


@pytest.mark.parametrize("game", sorted(GAMES))
def test_frames_that_come_one_by_one_are_those_of_the_replay(game: str) -> None:
    episode = play(GAMES[game], 3)
    live = LiveFrames(sent(start_document(episode)))
    document = json.loads(live.cut(0, 1))
    for number, step in enumerate(episode.steps, start=1):
        live.add(sent(step_document(step)))
        growth = json.loads(live.cut(number, number + 1))
        assert growth["first"] == len(document["frames"])
        document["frames"] += growth["frames"]
        document["steps"] += growth["steps"]
    nothing = dict.fromkeys(("placements", "rewards", "verdicts"))
    whole = {**sent(frames_json(episode)), **nothing, "first": 0}
    assert document == whole
    assert json.loads(live.cut(0, len(live))) == whole


def test_steps_without_times_have_null_for_each_seat() -> None:
    step = play(GAMES["hungry_geese"], 1).steps[0]
    assert step_document(step, with_times=False)["charged_seconds"] == (None,) * 4


def test_a_step_that_breaks_the_rules_is_refused() -> None:
    episode = play(GAMES["hungry_geese"], 1)
    live = LiveFrames(start_document(episode))
    with pytest.raises(EpisodeError, match="step 1"):
        live.add({**step_document(episode.steps[0]), "moves": [None] * 4})
    with pytest.raises(GameError, match="chess"):
        LiveFrames({**start_document(episode), "game": "chess"})


def test_a_game_without_shows_whole_board_counts_as_hiding_something() -> None:
    class Cards:
        pass

    assert not any(hides_something(game) for game in GAMES.values())
    assert hides_something(Cards())  # type: ignore[arg-type]


def sent(document: Any) -> Any:
    """The document after a journey as JSON."""
    return json.loads(json.dumps(document))
