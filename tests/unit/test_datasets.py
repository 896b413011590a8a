"""What `peck dataset` gathers of matches, without a ladder."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np

from games import encoders
from games.episode import Episode, to_bytes
from services.cli.datasets import SampleCollector, _write_arrays
from tests.unit.games.test_encoders import SMALL, episode


def match_of(*episodes: Episode) -> tuple[dict[str, Any], list[Any]]:
    """A match as the API tells it, and its replays."""
    replays = [json.loads(gzip.decompress(to_bytes(one))) for one in episodes]
    return {"id": "mat_1", "season_id": "sea_1"}, replays


def test_samples_follow_an_agent_into_the_swapped_seat(
    tmp_path: Path,
) -> None:
    pair = [episode("golad", 2, SMALL, seed) for seed in (0, 1)]
    encoder, gathered = encoders.encoder_of("golad"), SampleCollector()
    match, replays = match_of(*pair)
    gathered.add(match, encoder, replays, {0})
    assert [source["seats"] for source in gathered.sources] == [[0], [1]]
    assert [sample.seat for sample in gathered.samples] == [
        source["seats"][0] for source in gathered.sources for _ in range(source["samples"])
    ]
    season = {"id": "sea_1", "game": "golad", "configuration": pair[0].configuration, "best": []}
    manifest = _write_arrays(tmp_path / "golad.npz", gathered, encoder, [season], {})
    with np.load(tmp_path / "golad.npz", allow_pickle=False) as data:
        for number, one in enumerate(pair):
            told = data["reward"][data["episode"] == number]
            assert set(told.tolist()) == {one.rewards[number]}
        assert data["rest"].shape == (manifest["samples"], 2)
        assert data["moves"].dtype == np.int8
        assert data["legal"].shape == (manifest["samples"], len(manifest["moves"]))


def test_moves_of_a_large_board_are_stored_as_int16(tmp_path: Path) -> None:
    recorded = episode("golad", 2, {"maxRounds": 1}, 3)
    encoder, gathered = encoders.encoder_of("golad"), SampleCollector()
    match, replays = match_of(recorded)
    gathered.add(match, encoder, replays, {0, 1})
    season = {"id": "sea_1", "game": "golad", "configuration": recorded.configuration, "best": []}
    manifest = _write_arrays(tmp_path / "golad.npz", gathered, encoder, [season], {})
    assert len(manifest["moves"]) == 1 + 2 * 18 * 16
    assert manifest["arrays"]["moves"][0] == manifest["arrays"]["rest"][0] == "int16"
