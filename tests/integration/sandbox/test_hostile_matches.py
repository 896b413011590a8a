"""Every hostile agent plays between honest neighbours and harms only itself.

One bundle holds all agents. The configuration of a match chooses one, so agents follow each other
in one box. Each match begins with a search for leftovers of the match before. The matches run side
by side in two boxes, started by the first test that needs one.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain, pairwise

import pytest

from games.protocol import Verdict
from tests.integration.sandbox import hostile
from tests.integration.sandbox.hostile import STEPS, Seat
from tests.integration.sandbox.hostile_table import BY_NAME, CHEATS, HOSTILE, ROWS, VOIDERS, Hostile
from tests.integration.sandbox.nodes import Bench, still_works

LANES = 2
NEIGHBOURS = 2
HONEST = Hostile("neighbour", "none")
"""It follows the last agent of a lane."""


@dataclass(frozen=True)
class Played:
    """The matches of one agent, and the next match in its box."""

    matches: Sequence[Sequence[Seat]]
    after: Seat
    """The seat of the next agent in the same box."""


@dataclass(frozen=True)
class Arena:
    """The matches of each selected agent."""

    played: dict[str, Future[Played]]
    honest: Sequence[Seat]
    """The seats of a match of honest agents alone."""
    again: Callable[[str], Played]
    """Plays the matches of the agent of this name once more."""


@pytest.fixture(scope="module")
def arena(request: pytest.FixtureRequest, bench: Bench) -> Iterator[Arena]:
    neighbour = hostile.pack("neighbour", bench.folder)
    found = [item.callspec.params for item in request.session.items if hasattr(item, "callspec")]
    names = [p["agent"] for p in found if p.get("bench") == bench.launcher and "agent" in p]
    stopped = threading.Event()

    def play(agent: Hostile, lane: str) -> list[Seat]:
        bundles = [hostile.pack(hostile.CHOSEN, bench.folder, lane)] * agent.seats
        return hostile.play(
            bench.node.socket,
            [*bundles, *[neighbour] * NEIGHBOURS],
            agent=agent.name,
            clock=agent.clock,
        )

    def play_in_turn(lane: str, played: dict[str, Future[Played]]) -> None:
        last: tuple[str, list[list[Seat]]] | None = None
        for agent in [*(BY_NAME[name] for name in played), HONEST]:
            if stopped.is_set():
                return
            try:
                matches = [play(agent, lane) for _ in range(agent.plays)]
            except Exception as error:
                for name in {agent.name, *(last or ())[:1]} & played.keys():
                    played[name].set_exception(error)
                last = None
                continue
            if last is not None:
                played[last[0]].set_result(Played(last[1], matches[0][0]))
            last = agent.name, matches

    def again(name: str) -> Played:
        played = {name: Future[Played]()}
        play_in_turn("again", played)
        return played[name].result()

    honest = hostile.play(bench.node.socket, [neighbour] * (2 + NEIGHBOURS))
    played = {name: Future[Played]() for name in names}
    with ThreadPoolExecutor(LANES) as pool:
        for lane in range(LANES):
            pool.submit(
                play_in_turn, f"{lane}", {name: played[name] for name in names[lane::LANES]}
            )
        yield Arena(played, honest, again)
        stopped.set()
    still_works(bench)


@pytest.mark.parametrize("agent", [agent.name for agent in HOSTILE])
def test_a_hostile_agent_costs_only_its_own_seat(arena: Arena, agent: str) -> None:
    expected = BY_NAME[agent]
    played = arena.played[agent].result()
    for seats in played.matches:
        for seat in seats[: expected.seats]:
            _ends_as_it_must(seat, expected)
        for seat in seats[expected.seats :]:
            assert seat.breaches == seat.leftovers == []
        for uid in (uid for seat in seats for uid in seat.uids):
            assert hostile.processes_of(uid) == [], "something of it still runs on the host"
    for seat in (*chain(*played.matches[1:]), played.after):
        assert seat.leftovers == []
    # A stall of this machine may cost a neighbour time once. An agent's effect repeats.
    plays = chain([played], (arena.again(agent) for _ in range(2)))
    found: list[Seat] = []
    for one in plays:
        found = _harm(one, arena, expected) or _replaced(one, expected)
        if not found:
            return
    pytest.fail(f"a neighbour is harmed, or its box thrown away: {found}")


def _ends_as_it_must(seat: Seat, expected: Hostile) -> None:
    assert seat.breaches == []
    assert seat.verdict in expected.verdicts, seat.reason
    assert re.search(expected.reason, seat.reason), seat.reason
    assert len(seat.reason) <= 400
    for text in expected.unseen:
        assert text not in seat.reason
    if expected.reaches:
        assert seat.stands, "it tried nothing"


def _harm(played: Played, arena: Arena, expected: Hostile) -> list[Seat]:
    """Neighbours whose play changed beside the hostile agent, or that lost half their bank.

    A wait in the kernel behind another process's forks and files is charged, because it is no wait
    for a core.
    """
    return [
        seat
        for seats in played.matches
        for index, seat in enumerate(seats)
        if index >= expected.seats
        if (seat.verdict, seat.reason, seat.moves) != (Verdict.DONE, "", arena.honest[index].moves)
        or seat.bank_seconds < expected.clock.bank_seconds / 2
    ]


def _replaced(played: Played, expected: Hostile) -> list[Seat]:
    """The next seat of a box that was not clean after a match."""
    for first, second in pairwise([*(match[0] for match in played.matches), played.after]):
        if not (expected.reused and first.uids and second.uids):
            continue
        if first.uids[0] // 1000 != second.uids[0] // 1000:
            return [second]
        assert first.uids[0] < second.uids[0], "the uid was used again"
    return []


def test_honest_agents_finish_without_a_breach(arena: Arena) -> None:
    for seat in arena.honest:
        assert (seat.verdict, seat.breaches, seat.leftovers) == (Verdict.DONE, [], [])
        assert len(seat.moves) == STEPS - 1
        assert set(seat.moves) == {"EAST", "NORTH"}


def test_every_row_of_the_attack_table_has_an_agent() -> None:
    assert len(HOSTILE) == len(BY_NAME) >= 60
    assert {agent.row for agent in HOSTILE} == set(ROWS)
    assert sorted([*BY_NAME, *CHEATS]) == hostile.sources()
    assert set(VOIDERS) <= set(BY_NAME)
