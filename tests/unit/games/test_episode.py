"""A recorded episode loads unchanged, replays exactly, and contains no names."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from games import GAMES
from games.episode import FORMAT, EpisodeError, from_bytes, states, to_bytes
from games.hungry_geese import GAME
from games.protocol import placements_from_scores
from tests.unit.games.positions import episode, play


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 8))
def test_an_episode_replays_exactly_from_bytes(seed: int, seats: int) -> None:
    recorded = episode(seed, seats)
    blob = to_bytes(recorded)
    back = from_bytes(blob)
    assert back == recorded
    assert to_bytes(back) == blob
    assert list(states(GAME, back)) == play(recorded.configuration, seats, seed)[0]


def test_the_states_of_an_episode_end_with_its_result() -> None:
    recorded = episode(3)
    outcome = GAME.outcome(list(states(GAMES[recorded.game], recorded))[-1])
    assert outcome is not None
    assert outcome.placements == recorded.placements
    assert outcome.rewards == recorded.rewards
    assert tuple(map(str, outcome.verdicts)) == recorded.verdicts


def test_a_replay_has_exactly_the_documented_fields() -> None:
    document = json.loads(gzip.decompress(to_bytes(episode(3))))
    assert document["format"] == FORMAT == "peck-replay/1"
    assert list(document) == [
        "format",
        "game",
        "version",
        "configuration",
        "clock",
        "seats",
        "chance",
        "steps",
        "placements",
        "rewards",
        "verdicts",
    ]
    assert list(document["steps"][0]) == ["moves", "chance", "charged_seconds", "bank_seconds"]


def test_a_long_replay_is_small() -> None:
    assert max(len(to_bytes(episode(seed))) for seed in range(20)) < 10_000


@pytest.mark.parametrize(
    ("change", "names"),
    [
        ({"format": "peck-replay/2"}, "format"),
        ({"format": None}, "format"),
        ({"seats": "4"}, "seats"),
        ({"steps": {}}, "steps"),
        ({"steps": [1]}, "steps"),
        ({"steps": [{}]}, "moves"),
        ({"placements": [1]}, "placements"),
        ({"configuration": 3}, "configuration"),
    ],
)
def test_a_replay_with_a_wrong_field_is_refused_by_name(change: Any, names: str) -> None:
    document = json.loads(gzip.decompress(to_bytes(episode(3)))) | change
    with pytest.raises(EpisodeError, match=names):
        from_bytes(gzip.compress(json.dumps(document).encode()))


@pytest.mark.parametrize(
    "blob",
    [
        b"",
        b"{}",
        gzip.compress(b"nonsense", mtime=0),
        gzip.compress(b"[]", mtime=0),
        gzip.compress(b"\xff{}", mtime=0),
    ],
)
def test_a_file_of_another_format_is_not_a_replay(blob: bytes) -> None:
    with pytest.raises(EpisodeError):
        from_bytes(blob)


def test_a_truncated_or_oversized_replay_is_refused() -> None:
    with pytest.raises(EpisodeError, match="cut short"):
        from_bytes(to_bytes(episode(3))[:-20])
    with pytest.raises(EpisodeError, match="more than"):
        from_bytes(gzip.compress(b" " * 70_000_000))


@pytest.mark.parametrize(
    "moves",
    [
        (None, "NORTH", "NORTH", "NORTH"),
        ("UP", "NORTH", "NORTH", "NORTH"),
        ({"fault": "DONE"}, "NORTH", "NORTH", "NORTH"),
        ({"fault": "ODD"}, "NORTH", "NORTH", "NORTH"),
        ([1], "NORTH", "NORTH", "NORTH"),
    ],
)
def test_an_illegal_recorded_move_is_refused_with_the_step(moves: Any) -> None:
    recorded = episode(3)
    first = replace(recorded.steps[0], moves=moves)
    broken = replace(recorded, steps=(first, *recorded.steps[1:]))
    with pytest.raises(EpisodeError, match="step 1"):
        list(states(GAME, broken))


def test_invalid_recorded_chance_is_refused() -> None:
    with pytest.raises(EpisodeError, match="step 0"):
        list(states(GAME, replace(episode(3), chance={"heads": [1], "food": []})))
    with pytest.raises(EpisodeError, match="step 0"):
        list(states(GAME, replace(episode(3), chance=None)))


def test_equal_scores_share_a_placement() -> None:
    assert placements_from_scores([5, 9, 5, 1]) == (2, 1, 2, 4)


def test_games_are_found_by_name() -> None:
    assert GAMES["hungry_geese"] is GAME
    assert all(name == game.name for name, game in GAMES.items())
