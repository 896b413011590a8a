"""Fields of a game's configuration that show agents the season's clock."""

from __future__ import annotations

import pytest

from games import GAMES
from games.kaggle_formats import episode_json
from games.protocol import Json, with_clock
from sandbox.errors import BundleRefused
from sandbox.match import referee
from sandbox.match.clock import Clock
from sandbox.match.referee import EpisodeRequest


@pytest.mark.parametrize(
    ("game", "field", "act_seconds", "told"),
    [
        ("battlesnake", "timeout", 0.2, 200),
        ("battlesnake", "timeout", 1.0, 1000),
        ("battlesnake", "timeout", 0.0, 1),
        ("hungry_geese", "actTimeout", 0.25, 0.25),
        ("hungry_geese", "actTimeout", 2.0, 2),
    ],
)
def test_configuration_shows_the_clock(
    game: str, field: str, act_seconds: float, told: float
) -> None:
    rules = GAMES[game]
    configuration = with_clock(rules, rules.configure({}), {"act_seconds": act_seconds})
    assert configuration[field] == told
    assert type(configuration[field]) is type(told)
    assert rules.configure(configuration) == configuration


@pytest.mark.parametrize("game", sorted(GAMES))
def test_with_clock_adds_no_unknown_field(game: str) -> None:
    rules = GAMES[game]
    configuration = rules.configure({})
    assert with_clock(rules, configuration, rules.clock).keys() == configuration.keys()


def test_match_and_kaggle_export_show_the_match_clock() -> None:
    game, refused = GAMES["hungry_geese"], BundleRefused("leads outside")
    played = referee.play_episode(
        EpisodeRequest(
            game,
            game.configure({"actTimeout": 1}),
            Clock(act_seconds=0.25, bank_seconds=4.0),
            bytes(16),
            [refused] * 2,
            max_parallel_seats=1,
            stop_after_seconds=60,
        )
    )
    assert played.episode.configuration["actTimeout"] == 0.25
    exported = episode_json(played.episode, episode_id="1", team_names=["a", "b"])
    assert exported["configuration"]["actTimeout"] == 0.25
    assert _bank(exported) == 4.0


def _bank(exported: dict[str, Json]) -> Json:
    return exported["steps"][0][0]["observation"]["remainingOverageTime"]
