"""Agents that attack the charge still pay, and agents that want no result get one.

Each cheat logs its used time by its own honest count. The referee's charge must not be less.
"""

from __future__ import annotations

import re

import pytest

from games.protocol import Verdict
from sandbox.match.clock import Clock
from tests.integration.sandbox import hostile
from tests.integration.sandbox.hostile import Seat
from tests.integration.sandbox.hostile_table import CHEATS, OFF_TURN, VOIDERS
from tests.integration.sandbox.nodes import Bench

ROOMY = Clock(act_seconds=5.0, bank_seconds=5.0, load="own", load_seconds=10.0)
"""A wide clock: all play to the end, because the test is about the charge."""
SCARCE = Clock(act_seconds=0.2, bank_seconds=0.3, load="own", load_seconds=5.0)
SHARE, SLACK_SECONDS = 0.9, 0.02
"""Tolerances for an agent's own count.

It includes the way into and out of a sleep. 2 ms off turn are free in each of its moves.
"""
STEPS = 4
"""Three moves: enough to repeat a cheat, and to compute in others' turns."""
PLAYS = 3
"""Repeats: a hypervisor sometimes takes cores, and no agent pays for that.

A cheat gains each time.
"""


def _play(bench: Bench, agent: str, beside: str, clock: Clock, steps: int = STEPS) -> list[Seat]:
    """A match of this agent beside another, one after the other."""
    bundles = [hostile.pack(hostile.CHOSEN, bench.folder), hostile.pack(beside, bench.folder)]
    return hostile.play(
        bench.node.socket, bundles, agent=agent, clock=clock, steps=steps, max_parallel_seats=1
    )


@pytest.mark.parametrize("cheat", CHEATS)
def test_a_cheat_is_charged_for_the_time_used(bench: Bench, cheat: str) -> None:
    unpaid = []
    for _ in range(PLAYS):
        seats = _play(bench, cheat, "thinker", ROOMY)
        assert [seat.verdict for seat in seats] == [Verdict.DONE] * 2
        assert seats[0].used_seconds > 0.1 or cheat in OFF_TURN
        unpaid.append(SHARE * seats[0].used_seconds - SLACK_SECONDS - seats[0].charged_seconds)
        if unpaid[-1] <= 0:
            return
    pytest.fail(f"{cheat} got {unpaid} seconds for nothing")


@pytest.mark.parametrize("cheat", [name for name in CHEATS if name not in OFF_TURN])
def test_a_cheat_runs_out_of_time(bench: Bench, cheat: str) -> None:
    clock = Clock(act_seconds=0.02, bank_seconds=0.2, load="own", load_seconds=5.0)
    seat, _ = _play(bench, cheat, "neighbour", clock, hostile.STEPS)
    assert seat.verdict is Verdict.TIMEOUT
    assert re.search(r"bank .+ had|left in the bank", seat.reason)


@pytest.mark.parametrize("voider", VOIDERS)
def test_a_losing_agent_cannot_void_the_match(bench: Bench, voider: str) -> None:
    """A match without honest agents, so that every seat wants to end it."""
    bundles = [hostile.pack(hostile.CHOSEN, bench.folder), hostile.pack("exits_hard", bench.folder)]
    seats = hostile.play(bench.node.socket, bundles, agent=voider, clock=SCARCE)
    assert seats[1].verdict is Verdict.ERROR
    assert "exited with code 0" in seats[1].reason
    assert seats[0].verdict in {Verdict.DONE, Verdict.ERROR, Verdict.TIMEOUT}
    assert seats[0].verdict is Verdict.DONE or seats[0].reason
