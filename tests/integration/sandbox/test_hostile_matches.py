"""Every hostile agent plays twice between honest neighbours: it costs itself and nobody else.

Two matches with the same bundle: the first lines of the second look for what the first has left in
the box. The matches of all agents run side by side, begun by the first test that asks for one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import pytest

from games.protocol import Verdict
from tests.integration.sandbox import hostile
from tests.integration.sandbox.conftest import ISOLATING, require
from tests.integration.sandbox.hostile import STEPS, Seat
from tests.integration.sandbox.hostile_table import BY_NAME, CHEATS, HOSTILE, ROWS, VOIDERS, Hostile
from tests.integration.sandbox.nodes import start_node

SIDE_BY_SIDE = 2
NEIGHBOURS = 2
NODE_OPTIONS = ("--profile", "python", "--warm", "2", "--keep", "40", "--memory-mb")


@dataclass
class Arena:
    """A node, and the matches of each agent that was selected for this run."""

    matches: dict[str, Future[list[list[Seat]]]]
    reference: list[list[Seat]]
    """A match of honest agents alone, by how many of its first seats a hostile one would take."""
    twice: Callable[[str], list[list[Seat]]]
    """Plays two matches of the agent of this name."""

    def honest(self, seats: int) -> list[Seat]:
        """The neighbours' seats of the match without a hostile agent."""
        return self.reference[seats]


@pytest.fixture(scope="module", params=ISOLATING)
def arena(request: pytest.FixtureRequest, short_folder: Callable[[], Path]) -> Iterator[Arena]:
    launcher: str = request.param
    require(launcher)
    folder = short_folder()
    wanted = [item.callspec.params for item in request.session.items if hasattr(item, "callspec")]
    names = [p["agent"] for p in wanted if p.get("arena") == launcher and "agent" in p]
    node = start_node(folder, launcher, *NODE_OPTIONS, str(hostile.MEMORY_MB))

    def twice(name: str) -> list[list[Seat]]:
        agent = BY_NAME[name]
        mine, other = hostile.pack(name, folder), hostile.pack("neighbour", folder)
        bundles = [mine] * agent.seats + [other] * NEIGHBOURS
        return [hostile.play(node.socket, bundles, clock=agent.clock) for _ in range(2)]

    honest = hostile.pack("neighbour", folder)
    reference = [
        hostile.play(node.socket, [honest] * (seats + NEIGHBOURS))[seats:] for seats in (0, 1, 2)
    ]
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        matches = {name: pool.submit(twice, name) for name in dict.fromkeys(names)}
        yield Arena(matches, reference, twice)
        pool.shutdown(cancel_futures=True)
    assert node.stop() == 0, node.log.read_text()


@pytest.mark.parametrize("agent", [agent.name for agent in HOSTILE])
def test_a_hostile_agent_costs_only_its_own_seat(arena: Arena, agent: str) -> None:
    expected = BY_NAME[agent]
    matches = arena.matches[agent].result()
    for seats in matches:
        for seat in seats[: expected.seats]:
            _ends_as_it_must(seat, expected)
        assert all(seat.breaches == [] for seat in seats)
        for uid in (uid for seat in seats for uid in seat.uids):
            assert hostile.processes_of(uid) == [], "something of it still runs on the host"
    # A stall of this machine may cost a neighbour time once. What an agent does to it comes again.
    plays = chain([matches], (arena.twice(agent) for _ in range(2)))
    faults = (_harm(played, arena, expected) or _replaced(played, expected) for played in plays)
    assert any(found == [] for found in faults), "a neighbour is harmed, or its box thrown away"


def _ends_as_it_must(seat: Seat, expected: Hostile) -> None:
    assert seat.breaches == []
    assert seat.verdict in expected.verdicts, seat.reason
    assert re.search(expected.reason, seat.reason), seat.reason
    assert len(seat.reason) <= 400
    for text in expected.unseen:
        assert text not in seat.reason
    if expected.reaches:
        assert seat.stands, "it tried nothing"


def _harm(matches: list[list[Seat]], arena: Arena, expected: Hostile) -> list[Seat]:
    """Neighbours that played otherwise than without the hostile agent, or lost half their bank.

    What a neighbour waited for in the kernel, behind somebody's forks and files, is not a wait for
    a core: it is charged.
    """
    return [
        seat
        for seats in matches
        for seat, alone in zip(seats[expected.seats :], arena.honest(expected.seats), strict=True)
        if (seat.verdict, seat.reason, seat.moves) != (Verdict.DONE, "", alone.moves)
        or seat.bank_seconds < expected.clock.bank_seconds / 2
    ]


def _replaced(matches: list[list[Seat]], expected: Hostile) -> list[Seat]:
    """The second seat of an agent whose box was not proven clean after the first match."""
    first, second = (match[0] for match in matches)
    if not (expected.reused and first.uids and second.uids):
        return []
    if first.uids[0] // 1000 != second.uids[0] // 1000:
        return [second]
    assert first.uids[0] < second.uids[0], "the uid was used again"
    return []


def test_honest_agents_finish_without_a_breach(arena: Arena) -> None:
    for seats in (0, 1, 2):
        for seat in arena.honest(seats):
            assert (seat.verdict, seat.breaches) == (Verdict.DONE, [])
            assert len(seat.moves) == STEPS - 1
            assert set(seat.moves) == {"EAST", "NORTH"}


def test_every_row_of_the_attack_table_has_an_agent() -> None:
    assert len(HOSTILE) == len(BY_NAME) >= 60
    assert {agent.row for agent in HOSTILE} == set(ROWS)
    assert sorted([*BY_NAME, *CHEATS]) == hostile.sources()
    assert set(VOIDERS) <= set(BY_NAME)
