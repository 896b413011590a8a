"""The written episode and the seats' logs.

Mirrored pairs: two episodes of one start with swapped seats give one result.
"""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from games.episode import Episode
from games.protocol import Outcome, Verdict
from sandbox.match import match_record
from sandbox.match.clock import Clock
from sandbox.match.loans import MoveLog
from sandbox.match.match_record import (
    LOG_CHARS,
    MOVE_CHARS,
    EpisodeRecord,
    PlayedMatch,
    SeatAnswer,
    SeatRecord,
    SeatReport,
    read_log,
)
from sandbox.match.move_cost import MoveCost
from sandbox.match.seat_faults import SeatFault, invalid_move_fault


def _seat(*steps: int) -> SeatRecord:
    record = SeatRecord()
    for step in steps:
        record.add(SeatAnswer(step, MoveCost(0.5, 0.125, 0.25, 0.25), 0.0, 60.0))
    return record


def _moves(record: SeatRecord, *log: MoveLog) -> list[dict[str, Any]]:
    moves: list[dict[str, Any]] = read_log(record.log_blob(Verdict.DONE, None, log))["moves"]
    return moves


def test_a_log_has_the_expected_shape() -> None:
    fault = invalid_move_fault(2, "expected NORTH")
    blob = _seat(1, 2).log_blob(Verdict.INVALID, fault, [MoveLog(2, "out", "err")])
    assert read_log(blob) == {
        "format": "peck-log/1",
        "moves": [
            {
                "step": 1,
                "wall_seconds": 0.5,
                "cpu_seconds": 0.125,
                "pressure_seconds": 0.25,
                "charged_seconds": 0.25,
                "off_turn_seconds": 0.0,
                "bank_seconds": 60.0,
                "stdout": "",
                "stderr": "",
            },
            {
                "step": 2,
                "wall_seconds": 0.5,
                "cpu_seconds": 0.125,
                "pressure_seconds": 0.25,
                "charged_seconds": 0.25,
                "off_turn_seconds": 0.0,
                "bank_seconds": 60.0,
                "stdout": "out",
                "stderr": "err",
            },
        ],
        "verdict": "INVALID",
        "reason": fault.reason,
        "failed_step": 2,
        "traceback": None,
        "pardoned": {},
    }


def test_the_same_content_gives_the_same_bytes() -> None:
    log = [MoveLog(1, "a", "b")]
    assert _seat(1).log_blob(Verdict.DONE, None, log) == _seat(1).log_blob(Verdict.DONE, None, log)


def test_output_before_the_first_move_belongs_to_step_0() -> None:
    moves = _moves(_seat(1), MoveLog(0, "loading", ""), MoveLog(1, "move", ""))
    assert [(m["step"], m["stdout"]) for m in moves] == [(0, "loading"), (1, "move")]


def test_uncounted_cpu_time_is_recorded_as_unknown() -> None:
    record = SeatRecord()
    record.add(SeatAnswer(1, MoveCost(0.5, None, 0.0, 0.5), 0.0, 60.0))
    assert _moves(record)[0]["cpu_seconds"] is None


def test_output_of_loading_is_recorded_with_the_loading_time() -> None:
    record = _seat(1)
    record.loading = MoveCost(2.0, 1.5, 0.5, 1.5)
    loading = _moves(record, MoveLog(0, "hello", ""))[0]
    assert (loading["wall_seconds"], loading["cpu_seconds"]) == (2.0, 1.5)
    assert (loading["charged_seconds"], loading["bank_seconds"]) == (0.0, None)


def test_output_belongs_to_the_steps_of_the_seat() -> None:
    moves = _moves(_seat(2, 5), MoveLog(1, "first", ""), MoveLog(2, "second", ""))
    assert [(m["step"], m["stdout"]) for m in moves] == [(2, "first"), (5, "second")]


@given(
    st.lists(st.builds(MoveLog, st.integers(-3, 10**9), st.text(), st.text()), max_size=20),
    st.integers(0, 5),
)
def test_a_box_cannot_log_invalid_steps(log: list[MoveLog], asked: int) -> None:
    moves = _moves(_seat(*range(1, asked + 1)), *log)
    assert {m["step"] for m in moves} <= set(range(asked + 1))


def test_a_log_is_limited_per_move_and_in_total() -> None:
    flood = [MoveLog(step, "x" * 50_000, "y" * 50_000) for step in range(1, 101)]
    moves = _moves(_seat(*range(1, 101)), *flood)
    assert max(len(m["stdout"]) for m in moves) == MOVE_CHARS
    assert sum(len(m["stdout"]) + len(m["stderr"]) for m in moves) == LOG_CHARS


def test_lone_surrogates_are_stored_as_text() -> None:
    assert _moves(_seat(1), MoveLog(1, "\ud800", ""))[0]["stdout"] == "?"


def test_an_episode_distinguishes_moves_faults_and_idle_seats() -> None:
    record = EpisodeRecord(
        game="g", version="1", configuration={}, clock=Clock(), seats=3, chance={"food": [1]}
    )
    answers = {
        0: SeatAnswer(1, MoveCost(0.2, 0.1, 0.0765433, 0.1234567), 0.0, 60.0),
        1: SeatAnswer(1, MoveCost(70.0, None, 0.0, 70.0), 0.0, -9.0),
    }
    record.add({0: "NORTH", 1: Verdict.TIMEOUT}, answers, {"food": []})
    episode = record.close(
        Outcome((1, 2, 3), (2.0, None, 0.0), (Verdict.DONE, Verdict.TIMEOUT, Verdict.DONE))
    )
    step = episode.steps[0]
    assert step.moves == ("NORTH", {"fault": "TIMEOUT"}, None)
    assert step.charged_seconds == (0.123457, 70.0, None)
    assert step.bank_seconds == (60.0, -9.0, None)
    assert episode.verdicts == ("DONE", "TIMEOUT", "DONE")
    assert episode.clock == Clock().to_json()


def test_output_after_an_unsent_question_belongs_to_the_right_move() -> None:
    record = _seat(1)
    record.add(SeatAnswer(2, MoveCost(0.5, 0.0, 0.0, 0.5), 0.0, 0.0, is_put=False))
    record.add(SeatAnswer(3, MoveCost(0.5, 0.125, 0.25, 0.25), 0.0, 0.0))
    moves = _moves(record, MoveLog(1, "one", ""), MoveLog(2, "two", ""))
    assert [move["stdout"] for move in moves] == ["one", "", "two"]


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
