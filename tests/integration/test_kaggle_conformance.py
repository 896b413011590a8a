"""Hungry Geese equals kaggle-environments 1.33.2: geese, food, rewards, statuses."""

from __future__ import annotations

import copy
import json
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import cycle
from random import Random
from typing import Any

import pytest

from games.episode import Episode, Step
from games.hungry_geese import GAME, State
from games.kaggle_formats import episode_json
from games.protocol import Verdict
from tests.integration.geese_players import NONSENSE, RULES, Temper, answer, rules_used
from tests.integration.kaggle_peer import (
    DeadlineExceeded,
    fast_peer,
    feed,
    make,
    make_with_bank,
    our_view,
    peer_game,
    reset,
    view,
)
from tests.sizes import sized

LEAST_USES = sized(4, 20)
CLOCK = {"act_seconds": 1.0, "bank_seconds": 60.0, "load": "first_move", "load_seconds": 30.0}
CAREFUL = Temper(wild=0.004, greedy=0.5, fails=0.0005, silent=0.002, bold=0.03)
BRAWL = Temper(wild=0.15, greedy=0.6, fails=0.02, silent=0.03, bold=0.5)
CAREFUL_AND_SOUND = Temper(greedy=0.5, bold=0.05)
DUEL = Temper(wild=0.9)
FEEDING = Temper(wild=0.02, greedy=1.0, fails=0.002, silent=0.0, bold=0.5)


@pytest.fixture(autouse=True)
def _quick_peer() -> Iterator[None]:
    with fast_peer():
        yield


def play_both(
    environment: Any, seats: int, seed: int, temper: Temper, used: Counter[str]
) -> tuple[Episode, State]:
    """Play one game on both sides from one seed and compare every state; returns our record."""
    rng = Random(f"players {seed}")
    reset(environment, seats, seed)
    ours = Random(seed)
    configuration = GAME.configure(dict(environment.configuration))
    state, start = GAME.reset(configuration, seats, ours)
    assert view(environment.state) == our_view(state)
    steps: list[Step] = []
    while GAME.to_move(state):
        answers = {seat: answer(state, seat, temper, rng) for seat in state.active}
        environment.step([answers.get(seat) for seat in range(seats)])
        moves = feed(state, answers)
        after, chance = GAME.step(state, moves, ours)
        assert view(environment.state) == our_view(after), (seed, after.step, answers)
        used.update(rules_used(state, moves, answers, after))
        steps.append(record(moves, chance, seats))
        state = after
    assert environment.done
    assert ours.getstate() == random.getstate()
    return finished(state, configuration, start, steps), state


def finished(
    state: State, configuration: dict[str, Any], start: Any, steps: Sequence[Step]
) -> Episode:
    outcome = GAME.outcome(state)
    assert outcome is not None
    return Episode(
        game=GAME.name,
        version=GAME.version,
        configuration=configuration,
        clock=CLOCK,
        seats=len(outcome.placements),
        chance=start,
        steps=tuple(steps),
        placements=outcome.placements,
        rewards=outcome.rewards,
        verdicts=tuple(map(str, outcome.verdicts)),
    )


def record(moves: dict[int, Any], chance: Any, seats: int) -> Step:
    def written(move: Any) -> Any:
        return {"fault": str(move)} if isinstance(move, Verdict) else move

    return Step(
        moves=tuple(written(moves[seat]) if seat in moves else None for seat in range(seats)),
        chance=chance,
        charged_seconds=tuple(0.25 if seat in moves else None for seat in range(seats)),
        bank_seconds=tuple(
            None if seat not in moves else -0.5 if moves[seat] is Verdict.TIMEOUT else 60.0
            for seat in range(seats)
        ),
    )


def other_configuration(rng: Random) -> dict[str, Any]:
    return {
        "columns": rng.choice((3, 3, 4, 5, 7, 11, 13, 20)),
        "rows": rng.choice((3, 3, 4, 5, 7, 9, 16)),
        "hunger_rate": rng.choice((1, 2, 3, 5, 10, 40, 1000)),
        "min_food": rng.choice((1, 2, 3, 6, 9, 30)),
        "max_length": rng.choice((1, 2, 3, 5, 8, 99)),
        "episodeSteps": rng.choice((1, 2, 3, 12, 30, 100, 200)),
    }


def test_games_agree_with_kaggle_step_by_step(
    capsys: pytest.CaptureFixture[str],
) -> None:
    used: Counter[str] = Counter()
    standard = [
        play_both(environment, seats, seed, CAREFUL, used)[1].step
        for environment in [make()]
        for seed, seats in zip(range(sized(24, 220)), cycle((4, 4, 2, 4, 3, 4, 8, 4, 5, 6, 7, 4)))
    ]
    feast = make({"min_food": 12, "hunger_rate": 50, "max_length": 12})
    others = [
        play_both(feast, 3, seed, FEEDING, used)[1].step
        for seed in range(1000, 1000 + sized(5, 30))
    ]
    rng = Random("other configurations")
    for seed in range(2000, 2000 + sized(16, 120)):
        environment = make(other_configuration(rng))
        temper = (CAREFUL, BRAWL, FEEDING)[seed % 3]
        for again in range(3):
            seats = rng.choice((1, 2, 2, 3, 4, 6, 8))
            others.append(play_both(environment, seats, seed + 1000 * again, temper, used)[1].step)
    for seed in range(6000, 6000 + sized(10, 90)):
        environment = make({"columns": rng.choice((3, 4)), "rows": 3 + seed % 2})
        for again, (seats, temper) in enumerate(((2, DUEL), (2, DUEL), (4, BRAWL), (8, BRAWL))):
            others.append(play_both(environment, seats, seed + 1000 * again, temper, used)[1].step)
    lengths = [*standard, *others]
    mean, standard_mean = (sum(steps) / len(steps) for steps in (lengths, standard))
    with capsys.disabled():
        print(
            f"\n{len(lengths)} games agree, {len(others)} of them with other configurations; "
            f"mean length {mean:.1f} steps, in the standard configuration {standard_mean:.1f}"
        )
        for rule in RULES:
            print(f"  {used[rule]:6d}  {rule}")
    assert len(lengths) >= sized(100, 900)
    assert len(others) >= 50
    assert mean >= 40
    assert standard_mean >= 40
    assert {rule: used[rule] for rule in RULES if used[rule] < LEAST_USES} == {}


def test_a_seeded_kaggle_game_draws_like_two_resets_here() -> None:
    for seed in range(5):
        seen: list[list[Any]] = []

        def agent(observation: Any, _: Any, seen: list[list[Any]] = seen) -> str:
            seen.append([observation.step, observation.index, observation.geese, observation.food])
            return "EAST" if observation.index else "SOUTH"

        random.seed(seed)
        make().run([agent] * 4)
        ours = Random(seed)
        GAME.reset(GAME.configure({}), 1, ours)
        state, _ = GAME.reset(GAME.configure({}), 4, ours)
        expected = []
        while GAME.to_move(state):
            for seat in state.active:
                observation = GAME.observe(state, seat)
                expected.append([observation[key] for key in ("step", "index", "geese", "food")])
            moves = {seat: "EAST" if seat else "SOUTH" for seat in state.active}
            state, _ = GAME.step(state, moves, ours)
        assert seen == expected


class Crash(Exception):
    """The exception of a crashing agent in these tests."""


def crash(_: Any) -> str:
    raise Crash


def oversleep(_: Any) -> str:
    time.sleep(0.4)
    return "NORTH"


def test_failing_agents_get_the_same_statuses_in_kaggle() -> None:
    statuses: Counter[str] = Counter()
    faults: list[tuple[str, Callable[[Any], Any]]] = [
        ("ERROR", crash),
        ("TIMEOUT", oversleep),
        *[("INVALID", lambda _, nonsense=nonsense: nonsense) for nonsense in NONSENSE],
    ]
    for number, (expected, fault) in enumerate(faults * sized(1, 2)):
        rng = Random(f"failing {number}")
        fails_at, temper = rng.choice((0, 1, 5, 12)), Temper(greedy=0.5)
        raw: dict[int, Any] = {}
        shadow: dict[str, State] = {}

        def player(
            observation: Any,
            _: Any,
            seat_fails: int = number % 4,
            fault: Callable[[Any], Any] = fault,
            fails_at: int = fails_at,
            rng: Random = rng,
            temper: Temper = temper,
            raw: dict[int, Any] = raw,
            shadow: dict[str, State] = shadow,
        ) -> Any:
            seat, step = observation.index, observation.step
            assert GAME.observe(shadow["state"], seat) == {
                key: observation[key] for key in ("geese", "food", "step", "index")
            }
            raw[seat] = Crash()
            is_failing = seat == seat_fails and step >= fails_at
            raw[seat] = fault(None) if is_failing else answer(shadow["state"], seat, temper, rng)
            return raw[seat]

        environment = make_with_bank({"actTimeout": 0.25}, bank_seconds=0.1)
        reset(environment, 4, number)
        ours = Random(number)
        state, _ = GAME.reset(GAME.configure({}), 4, ours)
        runner = environment._Environment__agent_runner([player] * 4)
        while GAME.to_move(state):
            raw.clear()
            shadow["state"] = state
            environment.step(*runner.act())
            for seat in state.active:
                # A loaded machine can time out any seat; the test checks only the consequences.
                if environment.state[seat].status == "TIMEOUT":
                    raw[seat] = DeadlineExceeded()
            state, _ = GAME.step(state, feed(state, raw), ours)
            assert view(environment.state) == our_view(state)
        assert environment.done
        if state.step > fails_at:
            statuses.update({expected} & {str(verdict) for verdict in state.verdicts})
    assert min(statuses[status] for status in ("ERROR", "INVALID", "TIMEOUT")) >= 1, statuses
    assert statuses["INVALID"] >= len(NONSENSE)


def episodes(count: int, temper: Temper) -> Iterator[tuple[Episode, State]]:
    """Matches played by our engine alone, recorded as the referee does."""
    for seed in range(count):
        rng, seats = Random(f"export {seed}"), (4, 2, 8, 3)[seed % 4]
        configuration = GAME.configure({"rows": 9, "min_food": 3} if seed % 5 == 4 else {})
        state, start = GAME.reset(configuration, seats, rng)
        steps = []
        while GAME.to_move(state):
            moves = feed(state, {seat: answer(state, seat, temper, rng) for seat in state.active})
            state, chance = GAME.step(state, moves, rng)
            steps.append(record(moves, chance, seats))
        yield finished(state, configuration, start, steps), state


def exported(episode: Episode) -> dict[str, Any]:
    names = [f"Team {seat}" for seat in range(episode.seats)]
    document = episode_json(
        episode,
        episode_id=26316666,
        team_names=names,
        submission_numbers=range(900, 900 + episode.seats),
    )
    text: dict[str, Any] = json.loads(json.dumps(document))
    return text


def load(document: dict[str, Any], steps: int | None = None) -> Any:
    """The peer's environment with the first ``steps`` states of an episode, or all."""
    document = copy.deepcopy(document)
    return make(document["configuration"], info=document["info"], steps=document["steps"][:steps])


SAME = ("name", "version", "steps", "rewards", "statuses", "configuration", "info")


def test_an_exported_episode_loads_in_kaggle() -> None:
    for episode, state in episodes(sized(5, 12), CAREFUL_AND_SOUND):
        document = exported(episode)
        environment = load(document)
        again = json.loads(environment.render(mode="json"))
        assert {key: again[key] for key in SAME} == {key: document[key] for key in SAME}
        assert environment.done
        assert document["rewards"] == list(state.rewards)
        assert len(document["steps"]) == len(episode.steps) + 1
        page = environment.render(mode="html")
        assert "window.kaggle" in page
        assert "Team 0" in page
        assert environment.render(mode="ansi").count("|") > 10


def test_an_exported_episode_with_failed_seats_loads_in_kaggle() -> None:
    """The peer replaces null in a last state by its defaults: reward 0, NORTH."""
    failed = 0
    for episode, state in episodes(12, BRAWL):
        document = exported(episode)
        again = json.loads(load(document).render(mode="json"))
        assert again["steps"][:-1] == document["steps"][:-1]
        assert again["statuses"] == document["statuses"] == [str(v) for v in state.verdicts]
        assert again["rewards"] == [reward or 0 for reward in document["rewards"]]
        for there, here in zip(again["steps"][-1], document["steps"][-1], strict=True):
            assert there == {
                **here,
                "reward": here["reward"] or 0,
                "action": here["action"] or "NORTH",
            }
        failed += document["rewards"].count(None)
        assert "window.kaggle" in load(document).render(mode="html")
    assert failed >= 5


def test_an_exported_episode_can_be_stepped_again_in_kaggle(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    failures = {
        "ERROR": RuntimeError("crash"),
        "INVALID": "nonsense",
        "TIMEOUT": DeadlineExceeded(),
    }
    for episode, _ in [*episodes(sized(4, 8), CAREFUL_AND_SOUND), *episodes(sized(4, 8), BRAWL)]:
        document = exported(episode)
        environment = load(document, steps=1)
        for number, step in enumerate(document["steps"][1:]):
            food = episode.steps[number].chance["food"]
            monkeypatch.setattr(peer_game, "sample", lambda _, count, food=food: food[:count])
            environment.step([s["action"] or failures[s["status"]] for s in step])
            assert view(environment.state) == view(step)
            assert [s.action for s in environment.state] == [s["action"] for s in step]
        assert environment.done


def test_our_export_of_a_game_equals_the_kaggle_export() -> None:
    environment = make()
    for seed in range(sized(6, 20)):
        episode, _ = play_both(environment, 4, seed, CAREFUL, Counter())
        theirs = json.loads(environment.render(mode="json"))
        ours = exported(episode)
        for state in (*theirs["steps"], *ours["steps"]):
            for seat in state:
                del seat["observation"]["remainingOverageTime"]
        assert {key: ours[key] for key in SAME[:-1]} == {key: theirs[key] for key in SAME[:-1]}
        assert ours["specification"].keys() == theirs["specification"].keys()
