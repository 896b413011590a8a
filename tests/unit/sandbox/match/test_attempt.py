"""The limits that an attempt gives to its episodes, by what the node lends."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.errors import AgentAway, SeatsAway
from sandbox.match import attempt, referee
from sandbox.match.attempt import Attempt, Lenders
from sandbox.match.clock import Clock
from sandbox.match.loans import GpuTurn, Loan, SeatRequest
from sandbox.match.referee import EpisodeRequest
from tests.integration.counting import Counting

STEPS, SEATS = 200, 4
CLOCK = Clock(act_seconds=3.0, bank_seconds=0.0)


class Lent(Loan):
    """A loan that nobody asks."""

    def __init__(self, gpu_turn: GpuTurn | None) -> None:
        self.gpu_turn = gpu_turn


class Chosen(Exception):
    """Carries the limits of an episode, in place of playing it."""


def limits(
    monkeypatch: pytest.MonkeyPatch, *lent: Loan | AgentAway, excused: frozenset[int] = frozenset()
) -> EpisodeRequest:
    """What the referee gets for an episode with these loans."""

    @contextlib.contextmanager
    def borrow(*_: object) -> Iterator[tuple[Loan | AgentAway, ...]]:
        yield lent

    def play_episode(request: EpisodeRequest) -> None:
        raise Chosen(request)

    monkeypatch.setattr(attempt, "borrow_seats", borrow)
    monkeypatch.setattr(referee, "play_episode", play_episode)
    lineup = [SeatRequest("torch-gpu", Path("main.py"), 512)] * SEATS
    game: Any = Counting()
    asked = Attempt(game, {"steps": STEPS}, CLOCK, bytes(16), lineup, 1, excused)
    with pytest.raises(Chosen) as chosen:
        attempt.play(asked, Lenders(Path("node.sock"), None, SEATS))
    (request,) = chosen.value.args
    assert isinstance(request, EpisodeRequest)
    return request


def test_seats_on_a_shared_gpu_have_time_to_think_one_after_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = limits(monkeypatch, *[Lent(GpuTurn(-1))] * SEATS)
    assert found.stop_after_seconds > STEPS * SEATS * CLOCK.act_seconds + attempt.WAITING_SECONDS
    assert found.max_parallel_seats == 1


def test_seats_with_own_gpus_think_together(monkeypatch: pytest.MonkeyPatch) -> None:
    found = limits(monkeypatch, *[Lent(None)] * SEATS)
    assert found.max_parallel_seats == SEATS


def test_a_match_is_not_played_without_an_agent_in_an_excused_seat(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lent: list[Any] = [AgentAway("no connection"), *[Lent(None)] * (SEATS - 1)]
    with pytest.raises(SeatsAway) as away:
        limits(monkeypatch, *lent, excused=frozenset({0, 1}))
    assert away.value.reasons == {0: "no connection"}


def test_a_match_is_played_without_an_agent_in_another_seat(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lent: list[Any] = [AgentAway("no connection"), *[Lent(None)] * (SEATS - 1)]
    found = limits(monkeypatch, *lent, excused=frozenset({1}))
    assert len(found.loans) == SEATS
