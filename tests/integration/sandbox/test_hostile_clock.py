"""Agents that attack the charge still pay, and agents that want no result get one.

Each cheat logs its used time by its own honest count. The referee's charge must not be less.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from games.protocol import Verdict
from sandbox.match.clock import Clock
from tests.integration.sandbox import hostile
from tests.integration.sandbox.conftest import ISOLATING, require
from tests.integration.sandbox.hostile_table import CHEATS, OFF_TURN, VOIDERS
from tests.integration.sandbox.nodes import Node, start_node

ROOMY = Clock(act_seconds=5.0, bank_seconds=5.0, load="own", load_seconds=10.0)
"""A wide clock: all play to the end, because the test is about the charge."""
SCARCE = Clock(act_seconds=0.2, bank_seconds=0.5, load="own", load_seconds=5.0)
SHARE, SLACK_SECONDS = 0.9, 0.02
"""Tolerances for an agent's own count.

It includes the way into and out of a sleep. 2 ms off turn are free in each of its five moves.
"""
PLAYS = 3
"""Repeats: a hypervisor sometimes takes cores, and no agent pays for that.

A cheat gains each time.
"""


@pytest.fixture(scope="module", params=ISOLATING)
def folder_and_node(
    request: pytest.FixtureRequest, short_folder: Callable[[], Path]
) -> Iterator[tuple[Path, Node]]:
    require(request.param)
    folder = short_folder()
    node = start_node(folder, request.param, "--profile", "python", "--memory-mb", "128")
    yield folder, node
    assert node.stop() == 0, node.log.read_text()


@pytest.mark.parametrize("agent", CHEATS)
def test_a_cheat_is_charged_for_the_time_used(
    folder_and_node: tuple[Path, Node], agent: str
) -> None:
    folder, node = folder_and_node
    bundles = [hostile.pack(agent, folder)] + [hostile.pack("thinker", folder)] * 2
    unpaid = []
    for _ in range(PLAYS):
        seats = hostile.play(node.socket, bundles, clock=ROOMY, max_parallel_seats=1)
        assert [seat.verdict for seat in seats] == [Verdict.DONE] * 3
        assert seats[0].used_seconds > 0.1 or agent in OFF_TURN
        unpaid.append(SHARE * seats[0].used_seconds - SLACK_SECONDS - seats[0].charged_seconds)
        if unpaid[-1] <= 0:
            return
    pytest.fail(f"{agent} got {unpaid} seconds for nothing")


@pytest.mark.parametrize("agent", [name for name in CHEATS if name not in OFF_TURN])
def test_a_cheat_runs_out_of_time(folder_and_node: tuple[Path, Node], agent: str) -> None:
    folder, node = folder_and_node
    bundles = [hostile.pack(agent, folder)] + [hostile.pack("neighbour", folder)] * 2
    clock = Clock(act_seconds=0.02, bank_seconds=0.2, load="own", load_seconds=5.0)
    seat, *_ = hostile.play(node.socket, bundles, clock=clock, max_parallel_seats=1)
    assert seat.verdict is Verdict.TIMEOUT
    assert re.search(r"bank .+ had|left in the bank", seat.reason)


@pytest.mark.parametrize("agent", VOIDERS)
def test_a_losing_agent_cannot_void_the_match(
    folder_and_node: tuple[Path, Node], agent: str
) -> None:
    """A match without honest agents, so that every seat wants to end it."""
    folder, node = folder_and_node
    bundles = [hostile.pack(agent, folder), hostile.pack("exits_hard", folder)]
    seats = hostile.play(node.socket, bundles, clock=SCARCE)
    assert seats[1].verdict is Verdict.ERROR
    assert "exited with code 0" in seats[1].reason
    assert seats[0].verdict in {Verdict.DONE, Verdict.ERROR, Verdict.TIMEOUT}
    assert seats[0].verdict is Verdict.DONE or seats[0].reason
