"""Seats that compute while they are not asked are frozen."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest

from games.protocol import Json, Verdict
from sandbox.match import referee
from sandbox.match.clock import Clock
from sandbox.match.cpu_meter import CpuMeter
from sandbox.match.move_cost import OFF_TURN_SECONDS
from sandbox.match.referee import EpisodeRequest
from sandbox.match.seat import Seat
from tests.integration.counting import Counting
from tests.unit.sandbox.match.answering_loans import IgnoresEndMessage


class OutAtOnce(Counting):
    """A game that asks seat 1 once."""

    def to_move(self, state: Any) -> tuple[int, ...]:
        return super().to_move(state)[: 2 if state.step == 0 else 1]

    def step(
        self, state: Any, moves: Mapping[int, Json | Verdict], chance: Random | Json
    ) -> tuple[Any, Json]:
        return super().step(state, {1: -1, **moves}, chance)


class Pondering:
    """Plays with a second seat that uses some cpu time after each step.

    Its meter reads the files of a cgroup, which are plain files here.
    """

    def __init__(self, folder: Path) -> None:
        self._usage, self.freeze = folder / "cpu.stat", folder / "cgroup.freeze"
        self._compute(0)
        self.freeze.touch()
        usage, freeze = os.open(self._usage, os.O_RDONLY), os.open(self.freeze, os.O_WRONLY)
        self.meter = CpuMeter({"cpu_stat": usage, "freeze": freeze}, 1.0, False)

    def _compute(self, microseconds: int) -> None:
        self._usage.write_bytes(b"usage_usec %d\n" % microseconds)

    def play(self, game: Any, steps: int, microseconds: int) -> None:
        """Play a match in which it uses this much time."""
        referee.play_episode(
            EpisodeRequest(
                game,
                {"steps": steps},
                Clock(),
                bytes(16),
                [IgnoresEndMessage(), IgnoresEndMessage(self.meter)],
                max_parallel_seats=1,
                stop_after_seconds=60,
                on_step=lambda _: self._rest_computing(microseconds),
            )
        )

    def _rest_computing(self, microseconds: int) -> None:
        self._compute(microseconds)
        time.sleep(OFF_TURN_SECONDS)  # a shorter pause has no room for off-turn work


@pytest.fixture
def pondering(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pondering]:
    monkeypatch.setattr(referee, "end_all", lambda loans: None)
    found = Pondering(tmp_path)
    with contextlib.closing(found.meter):
        yield found


@pytest.mark.parametrize(("used", "frozen"), [(0, b""), (5_000_000, b"1")])
def test_an_eliminated_seat_that_computes_is_frozen(
    pondering: Pondering, used: int, frozen: bytes
) -> None:
    pondering.play(OutAtOnce(Verdict.INVALID), 3, used)
    assert pondering.meter.is_frozen is bool(frozen)
    assert pondering.freeze.read_bytes() == frozen


@pytest.mark.parametrize(("used", "frozen"), [(0, False), (5_000_000, True)])
def test_a_pondering_seat_is_frozen_during_another_seats_turn(
    monkeypatch: pytest.MonkeyPatch, pondering: Pondering, used: int, frozen: bool
) -> None:
    monkeypatch.setattr(Seat, "may_be_asked_with_others", False)
    asked: list[tuple[int, int, bool]] = []
    asking = Seat.build_move_question

    def noted(seat: Seat, step: int, observation: Json) -> Any:
        asked.append((step, seat.index, pondering.meter.is_frozen))
        return asking(seat, step, observation)

    monkeypatch.setattr(Seat, "build_move_question", noted)
    pondering.play(Counting(Verdict.INVALID), 2, used)
    assert asked[:3] == [(1, 1, False), (1, 0, False), (2, 0, frozen)]
