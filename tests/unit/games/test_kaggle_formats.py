"""The export has the shape of Kaggle's own files. (Kaggle loads it: see the conformance test.)"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from games.episode import states
from games.hungry_geese import GAME
from games.kaggle_formats import episode_json, log_json
from games.protocol import GameError
from tests.unit.games.positions import episode

TEAMS = ("Ada", "Bob", "Cyd", "Dan")


def test_the_first_state_matches_kaggles_format() -> None:
    document = episode_json(episode(3), episode_id=7, team_names=TEAMS)
    first, second, *_ = document["steps"][0]
    assert first["action"] == second["action"] == "NORTH"
    assert first["reward"] == 0
    assert first["status"] == "ACTIVE"
    assert first["observation"].keys() == {
        "geese",
        "food",
        "step",
        "index",
        "remainingOverageTime",
    }
    assert second["observation"] == {"index": 1, "remainingOverageTime": 60.0}


def test_each_state_has_the_preceding_action() -> None:
    recorded = next(e for e in map(episode, range(100)) if "TIMEOUT" in e.verdicts)
    document = episode_json(recorded, episode_id=7, team_names=TEAMS)
    assert len(document["steps"]) == len(recorded.steps) + 1
    failing = recorded.verdicts.index("TIMEOUT")
    for step, state in zip(recorded.steps, document["steps"][1:], strict=True):
        for seat, move in enumerate(step.moves):
            expected = "NORTH" if move is None else move if isinstance(move, str) else None
            assert state[seat]["action"] == expected
            bank = step.bank_seconds[seat]
            if bank is not None:
                assert state[seat]["observation"]["remainingOverageTime"] == max(0, bank)
    assert document["steps"][-1][failing]["observation"]["remainingOverageTime"] == 0
    assert document["rewards"][failing] is None
    assert document["statuses"] == list(recorded.verdicts)


def test_info_has_team_names_and_measured_times() -> None:
    recorded = episode(3)
    info = episode_json(
        recorded, episode_id=7, team_names=TEAMS, submission_numbers=[11, 12, 13, 14]
    )["info"]
    assert info["EpisodeId"] == 7
    assert info["TeamNames"] == list(TEAMS)
    assert info["Agents"][1] == {"Name": "Bob", "SubmissionId": 12}
    assert info["Peck"]["charged_seconds"] == [list(s.charged_seconds) for s in recorded.steps]
    assert info["Peck"]["bank_seconds"] == [list(s.bank_seconds) for s in recorded.steps]


def test_the_result_is_the_last_state() -> None:
    recorded = episode(5)
    document = episode_json(recorded, episode_id="epi_1", team_names=TEAMS)
    assert document["id"] == "epi_1"
    assert tuple(document["rewards"]) == recorded.rewards
    assert document["steps"][-1][0]["observation"]["geese"] == [
        list(goose) for goose in list(states(GAME, recorded))[-1].geese
    ]


def test_an_export_needs_one_team_name_per_seat() -> None:
    with pytest.raises(GameError, match="team_names"):
        episode_json(episode(3), episode_id=7, team_names=["Ada"])
    with pytest.raises(GameError, match="game"):
        episode_json(replace(episode(3), game="chess"), episode_id=7, team_names=TEAMS)


def test_a_log_has_one_entry_per_call() -> None:
    moves: list[dict[str, Any]] = [
        {"step": 1, "charged_seconds": 0.1234567, "stdout": "a", "stderr": ""},
        {"step": 2, "charged_seconds": None, "stdout": "", "stderr": "b"},
    ]
    assert log_json(moves) == [
        [{"duration": 0.123457, "stdout": "a", "stderr": ""}],
        [{"duration": 0.0, "stdout": "", "stderr": "b"}],
    ]


def test_the_first_log_entry_has_the_output_of_loading() -> None:
    load: dict[str, Any] = {
        "step": 0,
        "charged_seconds": None,
        "stdout": "loading\n",
        "stderr": "w",
    }
    first: dict[str, Any] = {"step": 1, "charged_seconds": 0.5, "stdout": "one\n", "stderr": ""}
    assert log_json([load, first]) == [
        [{"duration": 0.5, "stdout": "loading\none\n", "stderr": "w"}]
    ]
    assert log_json([load]) == [[{"duration": 0.0, "stdout": "loading\n", "stderr": "w"}]]
    assert log_json([]) == []
