"""A record that the rules and the seed do not give is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from games.episode import Episode, EpisodeError, Step, check_episode, from_bytes, to_bytes
from ladder.enums import MatchKind
from ladder.ids import MatchId
from ladder.matches.records import MatchOrder
from sandbox.match.seeds import game_random
from tests import simulated_machine

GAME = simulated_machine.GAME
SEED = bytes(range(16))
ORDER = MatchOrder(
    match_id=MatchId("mat_x"),
    attempt=1,
    kind=MatchKind.RATED,
    game=GAME.name,
    configuration=GAME.configure({}),
    clock=dict(GAME.clock),
    memory_mb=256,
    seed=SEED,
    lease_seconds=15.0,
    profiles=("numpy",) * 4,
    digests=tuple(f"{number:064x}" for number in range(4)),
)
POLICIES = [simulated_machine.careful(skill) for skill in (1.0, 0.9, 0.5, 0.2)]


def recorded(lie: int | None = None) -> Episode:
    return from_bytes(to_bytes(simulated_machine.play(ORDER, POLICIES, lie=lie).episode))


@pytest.mark.parametrize("lie", [None, 0])
def test_a_record_that_the_rules_give_passes(lie: int | None) -> None:
    episode = recorded(lie)
    assert len(episode.steps) > 1
    assert check_episode(GAME, episode, game_random(SEED)).placements == episode.placements


def step(episode: Episode, number: int, **changes: Any) -> Episode:
    steps: list[Step] = list(episode.steps)
    steps[number] = replace(steps[number], **changes)
    return replace(episode, steps=tuple(steps))


def move(episode: Episode, number: int, given: Any) -> Episode:
    return step(episode, number, moves=(given, *episode.steps[number].moves[1:]))


CHANGES: dict[str, Callable[[Episode], Episode]] = {
    "placements": lambda one: replace(one, placements=one.placements[::-1]),
    "rewards": lambda one: replace(one, rewards=(1e9, *one.rewards[1:])),
    "verdicts": lambda one: replace(one, verdicts=("ERROR", *one.verdicts[1:])),
    "food": lambda one: step(one, 0, chance={"food": [1]}),
    "start": lambda one: replace(one, chance=None),
    "no step": lambda one: replace(one, steps=()),
    "last step": lambda one: replace(one, steps=one.steps[:-1]),
    "another step": lambda one: replace(one, steps=(*one.steps, one.steps[-1])),
    "no move": lambda one: move(one, 0, None),
    "wrong move": lambda one: move(one, 0, "UP"),
    "wrong form": lambda one: move(one, 0, [[["NORTH"]]]),
    "no fault": lambda one: move(one, 0, {"fault": "DONE"}),
    "unknown fault": lambda one: move(one, 0, {"fault": "LAZY"}),
    "a fault that passes": lambda one: move(one, 0, {"fault": "ERROR"}),
    "a negative time": lambda one: step(one, 0, charged_seconds=(-1.0, 0.0, 0.0, 0.0)),
    "no number": lambda one: step(one, 0, charged_seconds=("x", 0.0, 0.0, 0.0)),
    "an endless time": lambda one: step(one, 0, charged_seconds=(float("nan"), 0.0, 0.0, 0.0)),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_a_changed_record_is_refused(change: Callable[[Episode], Episode]) -> None:
    with pytest.raises(EpisodeError):
        check_episode(GAME, change(recorded()), game_random(SEED))


def test_a_record_of_another_seed_is_refused() -> None:
    with pytest.raises(EpisodeError, match="start"):
        check_episode(GAME, recorded(), game_random(bytes(16)))
