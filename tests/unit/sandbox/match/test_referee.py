"""The referee without processes: refused bundles, broken rules, seeds."""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from games import GAMES
from games.forks import Fork
from games.hungry_geese import HungryGeese, State
from games.protocol import Json, Measure, Outcome, Verdict
from sandbox.errors import BundleRefused, GameFault, HostFault
from sandbox.match import referee
from sandbox.match.clock import Clock
from sandbox.match.loans import GpuTurn, Loan
from sandbox.match.match_record import PlayedMatch
from sandbox.match.questions import StopReached
from sandbox.match.referee import REFEREE_NICE, EpisodeRequest
from sandbox.match.seeds import game_random, seat_seed
from tests.unit.sandbox.match.answering_loans import IgnoresEndMessage

GEESE = GAMES["hungry_geese"]
REFUSED = BundleRefused("leads outside the archive", "../main.py")


def _play(game: Any, seats: int = 4) -> PlayedMatch:
    return referee.play_episode(
        EpisodeRequest(
            game,
            GEESE.configure({}),
            Clock(),
            bytes(16),
            [REFUSED] * seats,
            max_parallel_seats=1,
            stop_after_seconds=60,
        )
    )


def test_each_refused_bundle_ends_with_a_reason() -> None:
    played = _play(GEESE)
    assert len(played.episode.steps) == 1
    assert played.episode.steps[0].moves == ({"fault": "ERROR"},) * 4
    assert played.episode.steps[0].charged_seconds == (None,) * 4
    for report in played.seats:
        assert (report.verdict, report.failed_step) == (Verdict.ERROR, 0)
        assert report.bundle_refused
        assert report.reason is not None
        assert "../main.py" in report.reason
        assert (report.charged_seconds, report.max_move_seconds) == (0.0, 0.0)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may raise a priority")
def test_the_referee_goes_before_ordinary_processes_only_while_it_keeps_time() -> None:
    during: list[int] = []

    def play_and_look() -> int:
        os.setpriority(os.PRIO_PROCESS, 0, 0)  # of this thread alone
        referee.play_episode(
            EpisodeRequest(
                GEESE,
                GEESE.configure({}),
                Clock(),
                bytes(16),
                [REFUSED] * 4,
                max_parallel_seats=1,
                stop_after_seconds=60,
                on_step=lambda _: during.append(os.getpriority(os.PRIO_PROCESS, 0)),
            )
        )
        return os.getpriority(os.PRIO_PROCESS, 0)

    with ThreadPoolExecutor(1) as other_thread:
        assert other_thread.submit(play_and_look).result() == 0
    assert set(during) == {REFEREE_NICE}


class BrokenStep(HungryGeese):
    def step(
        self, state: State, moves: Mapping[int, Json | Verdict], chance: Random | Json
    ) -> tuple[State, Json]:
        raise IndexError("the rules are wrong")


class BrokenReset(HungryGeese):
    def reset(
        self, configuration: Mapping[str, Json], seats: int, chance: Random | Json
    ) -> tuple[State, Json]:
        raise KeyError("rows")


class NeverOver(HungryGeese):
    def to_move(self, state: State) -> tuple[int, ...]:
        return (0,)

    def step(
        self, state: State, moves: Mapping[int, Json | Verdict], chance: Random | Json
    ) -> tuple[State, Json]:
        return state, {"food": []}


@pytest.mark.parametrize(
    ("game", "words"),
    [(BrokenStep(), "failed in step: .*the rules are wrong"), (BrokenReset(), "failed in reset")],
)
def test_an_exception_in_the_rules_is_a_game_fault(game: Any, words: str) -> None:
    with pytest.raises(GameFault, match=words):
        _play(game)


class Telling(HungryGeese):
    """A game that reports a reward and other measures."""

    measures = (Measure("won", "Games won", "share"),)

    def __init__(self, reward: Any, told: Any) -> None:
        self.told = (reward, told)

    def outcome(self, state: State) -> Outcome | None:
        found, (reward, told) = super().outcome(state), self.told
        return found and replace(found, rewards=(reward,) * 4, statistics=(told,) * 4)


@pytest.mark.parametrize(
    ("reward", "told", "words"),
    [
        (float("nan"), {}, "reward should be a number up to"),
        (1e200, {}, "reward should be a number up to"),
        (1.0, {"length": 10**400}, "length should be a number up to"),
        (1.0, {"length": "12"}, "length should be a number up to"),
        (1.0, {"won": 2}, "won should be a number from 0 to 1, it is 2"),
        (1.0, {"won": -1}, "won should be a number from 0 to 1"),
        (1.0, [1], "outcome"),
    ],
)
def test_unusable_statistics_are_a_game_fault(reward: Any, told: Any, words: str) -> None:
    with pytest.raises(GameFault, match=words):
        _play(Telling(reward, told))


def test_valid_statistics_are_reported_with_each_seat() -> None:
    played = _play(Telling(None, {"won": True, "length": -3.5}))
    assert played.seats[0].statistics == {"won": True, "length": -3.5}


def test_a_game_that_never_ends_is_stopped() -> None:
    with pytest.raises(HostFault, match=r"did not end within 0\.1 s"):
        referee.play_episode(
            EpisodeRequest(
                NeverOver(),
                GEESE.configure({}),
                Clock(),
                bytes(16),
                [REFUSED],
                max_parallel_seats=1,
                stop_after_seconds=0.1,
            )
        )


def test_every_seat_has_a_seed_separate_from_the_game() -> None:
    seed = bytes(range(16))
    seeds = {seat_seed(seed, seat) for seat in range(8)}
    assert len(seeds) == 8
    assert {len(one) for one in seeds} == {16}
    assert seed not in seeds
    assert game_random(seed).random() == game_random(seed).random()
    assert game_random(seed).random() != game_random(bytes(16)).random()
    assert seat_seed(seed, 0) != seat_seed(bytes(16), 0)


def test_the_monitor_of_delays_keeps_the_usual_priority(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the boxes it would never be late, and agents would pay for a busy node."""
    monkeypatch.setattr(referee, "END_SECONDS", 0.001)
    monkeypatch.setattr(referee, "end_all", lambda loans: None)
    found: list[int] = []

    def look(step: int) -> None:
        (monitor,) = [one for one in threading.enumerate() if one.name == "delay monitor"]
        found.append(os.getpriority(os.PRIO_PROCESS, monitor.native_id or 0))

    usual = os.getpriority(os.PRIO_PROCESS, 0)
    referee.play_episode(
        EpisodeRequest(
            GEESE,
            GEESE.configure({"episodeSteps": 3}),
            Clock(),
            bytes(16),
            [IgnoresEndMessage(), REFUSED],
            max_parallel_seats=1,
            stop_after_seconds=60,
            forgive_lateness=True,
            on_step=look,
        )
    )
    assert set(found) == {usual}


def test_apparent_waiting_at_the_end_does_not_void_the_match(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Long before it is late by its own clock.
    monkeypatch.setattr(referee, "END_SECONDS", 0.001)
    monkeypatch.setattr(referee, "end_all", lambda loans: None)  # the node's part
    loan = IgnoresEndMessage()
    loans: list[Loan | BundleRefused] = [loan, REFUSED]
    configuration = GEESE.configure({"episodeSteps": 3})
    played = referee.play_episode(
        EpisodeRequest(
            GEESE,
            configuration,
            Clock(),
            bytes(16),
            loans,
            max_parallel_seats=1,
            stop_after_seconds=60,
        )
    )
    assert loan.heard[-1] == "end"
    assert [report.verdict for report in played.seats] == [Verdict.DONE, Verdict.ERROR]


class Neighboured(GpuTurn):
    """A turn for which the match waits 100 s, on a clock of its own."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(-1)
        self._waited = 0.0
        monkeypatch.setattr(referee, "monotonic", self._now)
        monkeypatch.setattr(referee, "end_all", lambda loans: None)
        monkeypatch.setattr(referee, "END_SECONDS", 0.001)

    def _now(self) -> float:
        return time.monotonic() + self._waited

    @contextlib.contextmanager
    def held(self, stop_at: float) -> Iterator[None]:
        self._waited += 100.0
        if self._now() > stop_at:
            raise StopReached
        yield

    def play(self) -> PlayedMatch:
        loan = IgnoresEndMessage()
        loan.gpu_turn = self
        return referee.play_episode(
            EpisodeRequest(
                GEESE,
                GEESE.configure({"episodeSteps": 3}),
                Clock(),
                bytes(16),
                [loan, REFUSED],
                max_parallel_seats=1,
                stop_after_seconds=60,
            )
        )


def test_waiting_for_a_gpu_does_not_void_the_match(monkeypatch: pytest.MonkeyPatch) -> None:
    played = Neighboured(monkeypatch).play()
    assert [report.verdict for report in played.seats] == [Verdict.DONE, Verdict.ERROR]


def test_waiting_for_a_gpu_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(referee, "GPU_WAIT_SECONDS", 110.0)
    with pytest.raises(HostFault, match=r"did not end within 160 s"):
        Neighboured(monkeypatch).play()


class Slow(IgnoresEndMessage):
    """An agent that takes some of its bank for each answer."""

    def __init__(self, pause_seconds: float, action: bytes = b'"NORTH"') -> None:
        self._pause_seconds, self._action = pause_seconds, action
        super().__init__()

    def _answer(self) -> None:
        while packet := self._agent.recv(1 << 17):
            told = json.loads(packet)
            if told["k"] == "start":
                self._agent.send(b'{"k":"ready","contract":"callable"}')
            elif told["k"] == "act":
                time.sleep(self._pause_seconds)
                with contextlib.suppress(OSError):
                    reply = b'{"k":"reply","n":%d,"action":%b}' % (told["n"], self._action)
                    self._agent.send(reply)


@pytest.mark.parametrize(
    ("steps", "by_hand", "warning"),
    [
        (1, (), "Your agent answered None in its only turn; "),
        (3, ("NORTH",), "Your agent answered None in all 2 turns; "),
        (3, ("NORTH",) * 3, None),
    ],
)
def test_none_warning_of_a_fork_counts_only_the_agents_own_moves(
    monkeypatch: pytest.MonkeyPatch, steps: int, by_hand: tuple[str, ...], warning: str | None
) -> None:
    monkeypatch.setattr(referee, "end_all", lambda loans: None)
    clock, rules = Clock(act_seconds=1, bank_seconds=1), GEESE.configure({"episodeSteps": 12})

    def request(rules: Any, loans: list[Slow]) -> EpisodeRequest:
        return EpisodeRequest(
            GEESE, rules, clock, bytes(16), loans, max_parallel_seats=2, stop_after_seconds=60
        )

    record = referee.play_episode(request(rules, [Slow(0), Slow(0)])).episode
    fork = Fork(record, len(record.steps) - steps, bytes(16), {0: by_hand})
    played = referee.play_episode(replace(request({}, [Slow(0, b"null"), Slow(0)]), fork=fork))
    reason = played.seats[0].reason
    assert reason is None if warning is None else str(reason).startswith(warning)
    assert played.seats[1].reason is None


def test_before_a_fork_no_seat_spends_the_recorded_bank_again_in_each_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(referee, "end_all", lambda loans: None)
    clock = Clock(act_seconds=0.02, bank_seconds=0.3)
    record = referee.play_episode(
        EpisodeRequest(
            GEESE,
            GEESE.configure({"episodeSteps": 20}),
            clock,
            bytes(16),
            [Slow(0), Slow(0)],
            max_parallel_seats=2,
            stop_after_seconds=60,
        )
    ).episode
    fork = Fork(record, len(record.steps) - 1, bytes(16))
    loans = [Slow(0.12), Slow(0)]
    played = referee.play_episode(
        EpisodeRequest(
            GEESE,
            {},
            clock,
            bytes(16),
            loans,
            max_parallel_seats=2,
            stop_after_seconds=60,
            fork=fork,
        )
    )
    assert [seat.verdict for seat in played.seats] == [Verdict.TIMEOUT, Verdict.DONE]
    step = played.seats[0].failed_step
    assert step is not None
    assert 2 < step < 10
