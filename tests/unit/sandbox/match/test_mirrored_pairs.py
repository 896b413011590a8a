"""Mirrored pairs: two episodes of one start with swapped seats give one result."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from games.episode import Episode
from games.protocol import Verdict
from sandbox.match import match_record
from sandbox.match.match_record import PlayedMatch, SeatRecord, SeatReport, read_log
from sandbox.match.seat_faults import SeatFault


def report(reward: float | None, fault: str | None = None) -> SeatReport:
    verdict = Verdict.DONE if fault is None else Verdict.TIMEOUT
    told = None if fault is None else SeatFault(Verdict.TIMEOUT, fault, 3)
    log = SeatRecord().log_blob(verdict, told, ())
    return SeatReport(1, reward, verdict, fault, 3 if fault else None, 0.5, 0.25, log)


def episode(*seats: SeatReport) -> PlayedMatch:
    rewards = tuple(seat.reward for seat in seats)
    verdicts = tuple(str(seat.verdict) for seat in seats)
    one = Episode("g", "1", {}, {}, 2, None, (), (1, 1), rewards, verdicts)
    return PlayedMatch(one, seats)


def played(first: PlayedMatch, second: PlayedMatch) -> tuple[PlayedMatch, list[tuple[int, ...]]]:
    """The pair, and the seats in each episode."""
    seated: list[tuple[int, ...]] = []

    def play(lineup: tuple[int, ...]) -> PlayedMatch:
        seated.append(lineup)
        return (first, second)[len(seated) - 1]

    game: Any = SimpleNamespace(mirrored=True)
    return match_record.play_match(game, 2, play), seated


def test_the_sum_of_both_episodes_decides_a_pair() -> None:
    # The first of the lineup wins in seat 0, then draws in seat 1.
    pair, seated = played(episode(report(1.0), report(0.0)), episode(report(0.5), report(0.5)))
    assert seated == [(0, 1), (1, 0)]
    assert [(seat.reward, seat.placement) for seat in pair.seats] == [(1.5, 1), (0.5, 2)]
    assert [seat.charged_seconds for seat in pair.seats] == [1.0, 1.0]
    assert len(pair.episodes) == 2


def test_one_win_each_is_a_tie() -> None:
    pair, _ = played(episode(report(1.0), report(0.0)), episode(report(1.0), report(0.0)))
    assert [(seat.reward, seat.placement) for seat in pair.seats] == [(1.0, 1), (1.0, 1)]


@pytest.mark.parametrize("position", [0, 1])
def test_a_fault_in_either_episode_fails_the_seat(position: int) -> None:
    bad = report(None, "it thought too long")
    first = episode(bad, report(1.0)) if position == 0 else episode(report(0.5), report(0.5))
    second = episode(report(1.0), bad) if position == 1 else episode(report(0.5), report(0.5))
    pair, _ = played(first, second)
    seat, other = pair.seats
    assert (seat.verdict, other.verdict) == (Verdict.TIMEOUT, Verdict.DONE)
    assert seat.failed_step == 3
    assert seat.reason is not None
    assert ("in the second episode" in seat.reason) is (position == 1)
    log = read_log(seat.log)
    assert (log["verdict"], log.get("failed_episode")) == ("TIMEOUT", 1 if position else None)
    assert other.placement == 1


@pytest.mark.parametrize("position", [0, 1])
def test_a_warning_of_either_episode_is_kept(position: int) -> None:
    warned, clean = replace(report(1.0), reason="It answered None."), report(1.0)
    one, two = (warned, clean) if position == 0 else (clean, warned)
    pair, _ = played(episode(one, report(0.0)), episode(report(0.0), two))
    which = ["first", "second"][position]
    assert pair.seats[0].reason == f"in the {which} episode: It answered None."
    assert pair.seats[1].reason is None


def test_a_failed_seat_gets_the_worst_reward_of_the_pair() -> None:
    bad = report(None, "it thought too long")
    pair, _ = played(episode(bad, report(1.0)), episode(report(-1.0), report(1.0)))
    assert [(seat.reward, seat.placement) for seat in pair.seats] == [(0.0, 1), (0.0, 1)]
    pair, _ = played(episode(report(-3.0), report(-2.0)), episode(report(-2.0), bad))
    assert [(seat.reward, seat.placement) for seat in pair.seats] == [(-6.0, 2), (-4.0, 1)]


def test_an_unmirrored_match_is_one_episode() -> None:
    game: Any = SimpleNamespace(mirrored=False)
    one = episode(report(1.0), report(0.0))
    assert match_record.play_match(game, 2, lambda lineup: one) is one
    assert one.episodes == (one.episode,)
