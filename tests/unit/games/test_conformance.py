"""The check of games: ours and the documented one pass, and it detects each broken promise."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from games import GAMES, external
from games.conformance import CHECKS, check_conformance, fingerprint
from games.protocol import ConfigurationError, Game, Json, Outcome, Verdict
from tests.unit.games import worked_example


@pytest.fixture(scope="module")
def goofspiel(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The class of the example in docs/how-to/bring-a-game.md."""
    return type(external.load_game(str(worked_example.write(tmp_path_factory.mktemp("games")))))


SHORT: Mapping[str, Mapping[str, Json]] = {
    "battlesnake": {"width": 7, "height": 7, "maxTurns": 15, "map": "royale"},
    "golad": {"width": 8, "height": 8, "startingCells": 15, "maxRounds": 8},
    "snake": {"width": 5, "height": 5, "maxSteps": 60},
}
"""Configurations that end long games early."""


@pytest.mark.parametrize("game", GAMES.values(), ids=lambda game: str(game.name))
def test_our_games_pass_every_conformance_check(game: Game[Any]) -> None:
    least, most = game.seats.start, game.seats.stop - 1
    counts = sorted({least, min(4, most)})
    report = check_conformance(game, games=1, seat_counts=counts, overrides=SHORT.get(game.name))
    assert report.broken == {}
    assert report.games > 1


def test_the_documented_example_passes_every_conformance_check(goofspiel: Any) -> None:
    report = check_conformance(goofspiel(), games=1)
    assert report.broken == {}
    assert report.seat_counts == (2, 3, 4)
    assert report.longest_game == 13


def test_equal_arguments_give_equal_reports(goofspiel: Any) -> None:
    first, second = (
        check_conformance(goofspiel(), games=1, seed=4, seat_counts=[2]) for _ in range(2)
    )
    assert first == second
    assert fingerprint(goofspiel(), 4) == fingerprint(goofspiel(), 4) != fingerprint(goofspiel(), 5)


def test_a_configuration_can_be_chosen(goofspiel: Any) -> None:
    report = check_conformance(goofspiel(), games=1, seat_counts=[2], overrides={"cards": 5})
    assert (report.longest_game, report.seat_counts) == (5, (2,))


def _takes_anything(game: Any, overrides: Mapping[str, Json]) -> dict[str, Json]:
    return {"cards": 5, **overrides}


def _blames_nobody(game: Any, overrides: Mapping[str, Json]) -> dict[str, Json]:
    if overrides.get("cards", 5) != 5 or set(overrides) - {"cards"}:
        raise ConfigurationError("something", "is wrong")
    return {"cards": 5}


def _raises_odd_errors(game: Any, state: Any, seat: int, raw: Json) -> Json:
    return game.of_class.parse(game, state, seat, int(raw))


def _draws_from_the_module(game: Any, state: Any, chance: Any) -> Any:
    if isinstance(chance, Random) and state.prizes:
        drawn = random.choice(state.prizes)
        return game.of_class._turn_up(game, state, {"prize": drawn})
    return game.of_class._turn_up(game, state, chance)


def _keeps_a_secret(game: Any, state: Any, moves: Any, chance: Any) -> Any:
    """A game whose event omits the next prize, so a replay cannot draw it."""
    after, event = game.of_class.step(game, state, moves, chance)
    return after, {**event, "prize": min(state.prizes, default=None)}


def _counts_its_calls(game: Any, state: Any, seat: int) -> dict[str, Json]:
    game.calls = getattr(game, "calls", 0) + 1
    return {"calls": game.calls}


def _tells_the_generator(game: Any, state: Any, chance: Any) -> Any:
    after, event = game.of_class._turn_up(game, state, chance)
    game.luck = chance.random() if isinstance(chance, Random) else 0
    return after, event


def _shows_luck(game: Any, state: Any, seat: int) -> dict[str, Json]:
    return {"luck": game.luck}


def _shows_a_set(game: Any, state: Any, seat: int) -> dict[str, Json]:
    return {"hand": set(state.hands[seat])}


def _forgets_faults(game: Any, state: Any) -> Outcome | None:
    outcome: Outcome | None = game.of_class.outcome(game, state)
    return outcome and replace(outcome, verdicts=(Verdict.DONE,) * len(outcome.verdicts))


def _skips_places(game: Any, state: Any) -> Outcome | None:
    outcome: Outcome | None = game.of_class.outcome(game, state)
    return outcome and replace(outcome, placements=tuple(p + 1 for p in outcome.placements))


def _fails_at_faults(game: Any, state: Any, moves: Any, chance: Any) -> Any:
    if any(isinstance(move, Verdict) for move in moves.values()):
        raise KeyError("fault")
    return game.of_class.step(game, state, moves, chance)


def _draws_off_the_board(game: Any, state: Any) -> dict[str, Json]:
    return {"board": {"columns": 2, "rows": 2}, "tokens": [{"cell": [2, 0]}]}


BREAKS: dict[str, tuple[str, Mapping[str, Any]]] = {
    "a clock that is no object": ("describes itself", {"clock": None}),
    "a mirrored game for four": ("describes itself", {"mirrored": True}),
    "a configuration that takes anything": ("configuration", {"configure": _takes_anything}),
    "an error that blames no field": ("configuration", {"configure": _blames_nobody}),
    "a step that raises at a fault": ("plays", {"step": _fails_at_faults}),
    "an episode without end": ("ends", {"longest": lambda game, configuration: 3}),
    "seats that are asked at the end": ("turns", {"to_move": lambda game, state: (0, 1)}),
    "places that begin with 2": ("outcome", {"outcome": _skips_places}),
    "a fault that nobody tells": ("faults", {"outcome": _forgets_faults}),
    "a parser that raises what it likes": ("answers", {"parse": _raises_odd_errors}),
    "an observation with a set": ("json", {"observe": _shows_a_set}),
    "a token off the board": ("frames", {"frame": _draws_off_the_board}),
    "an observation that counts": ("pure", {"observe": _counts_its_calls}),
    "draws from the module random": ("determinism", {"_turn_up": _draws_from_the_module}),
    "chance that is not told": ("replay", {"step": _keeps_a_secret}),
    "an observation that knows the generator": (
        "replay",
        {"_turn_up": _tells_the_generator, "observe": _shows_luck},
    ),
}


@pytest.mark.parametrize("name", BREAKS)
def test_a_failed_conformance_check_is_named(name: str, goofspiel: Any) -> None:
    broken, members = BREAKS[name]
    game = type("Broken", (goofspiel,), {**members, "of_class": goofspiel})()
    report = check_conformance(game, games=2, seat_counts=[2], seed=1)
    assert broken in report.broken, report.broken
    assert not report.passed


def test_every_conformance_check_has_a_failing_example() -> None:
    assert {broken for broken, _ in BREAKS.values()} == set(CHECKS)


def test_a_report_lists_every_check_with_the_failing_position(goofspiel: Any) -> None:
    members: dict[str, Callable[..., Any]] = {"step": _fails_at_faults}
    told = check_conformance(
        type("Broken", (goofspiel,), {**members, "of_class": goofspiel})()
    ).as_json()
    assert [one["name"] for one in told["checks"]] == list(CHECKS)
    (plays,) = (one for one in told["checks"] if one["name"] == "plays")
    assert not plays["holds"]
    assert plays["places"][0].startswith("2 seats, seat 0 ERROR (0), step ")
    assert "KeyError" in plays["places"][0]
