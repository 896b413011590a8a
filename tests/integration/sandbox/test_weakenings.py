"""Without any one protection, the agents written for it report a breach.

In test_hostile_matches.py the same agents meet every protection.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import docker
import pytest

from games.protocol import Verdict
from sandbox.match import loans
from tests.integration.sandbox import hostile
from tests.integration.sandbox.conftest import require
from tests.integration.sandbox.hostile import CHOSEN, Seat
from tests.integration.sandbox.hostile_table import BY_NAME, HOSTILE
from tests.integration.sandbox.nodes import start_node
from tests.integration.sandbox.weak_node import WEAKNESSES, started_as

BREACHING_AGENTS = {
    "uid 0": ("set_uid",),
    "capabilities": ("capabilities", "set_uid"),
    "no seccomp": ("kernel_calls", "odd_sockets", "system_v", "namespaces"),
    "network": ("network",),
    "no pids limit": ("fork_bomb", "thread_bomb"),
    "no memory limit": ("memory_bomb", "memory_in_files"),
    "socket folder": ("socket_folder",),
}
"""The agents that must report a breach, by the removed protection."""
LAUNCHERS = {
    "docker": [*BREACHING_AGENTS, "shared uid"],
    # There a box has no folder with a socket.
    "bubblewrap": [name for name in [*BREACHING_AGENTS, "shared uid"] if name != "socket folder"],
}
# A container with a network adds an interface to the machine.
ADDS_INTERFACES = ("docker", "network")
CASES = [
    pytest.param(
        launcher,
        weakness,
        marks=[getattr(pytest.mark, launcher)]
        + [pytest.mark.network_interfaces] * ((launcher, weakness) == ADDS_INTERFACES),
    )
    for launcher, weaknesses in LAUNCHERS.items()
    for weakness in weaknesses
]

Play = Callable[[str, str], list[Seat]]
"""Plays a match of an agent beside honest neighbours, in boxes with this weakness."""


@pytest.fixture(scope="session")
def weak_nodes(short_folder: Callable[[], Path]) -> Iterator[Callable[[str], Play]]:
    """Starts one node of each launcher at its first use. Its boxes lack what a test names."""
    with contextlib.ExitStack() as stack:
        yield cache(lambda launcher: stack.enter_context(_weak_node(launcher, short_folder())))


@contextlib.contextmanager
def _weak_node(launcher: str, folder: Path) -> Iterator[Play]:
    with started_as(folder) as program:
        options = ("--profile", "python", "--warm", "0", "--keep", "4")
        node = start_node(folder, launcher, *options, python=program)
    image = loans.node_hello(node.socket).image_digests["python"]

    def play(name: str, weakness: str) -> list[Seat]:
        (folder / "weakness").write_text(weakness)
        agent, neighbour = (hostile.pack(one, folder, weakness) for one in (CHOSEN, "neighbour"))
        bundles = [agent, neighbour, neighbour]
        return hostile.play(node.socket, bundles, agent=name, clock=BY_NAME[name].clock)

    try:
        yield play
    finally:
        node.stop()
        if launcher == "docker":
            with contextlib.closing(docker.from_env()) as engine:
                engine.images.remove(image, force=True)


@pytest.fixture
def play(weak_nodes: Callable[[str], Play], launcher: str) -> Play:
    require(launcher)
    return weak_nodes(launcher)


@pytest.mark.parametrize(
    ("launcher", "weakness"), [c for c in CASES if c.values[1] in BREACHING_AGENTS]
)
def test_hostile_agents_breach_each_weakened_box(play: Play, launcher: str, weakness: str) -> None:
    for name in BREACHING_AGENTS[weakness]:
        assert play(name, weakness)[0].breaches, f"{name} notices nothing"


@pytest.mark.parametrize(
    ("launcher", "weakness"), [c for c in CASES if c.values[1] == "shared uid"]
)
def test_with_a_shared_uid_an_agent_starves_other_seats(
    play: Play, launcher: str, weakness: str
) -> None:
    neighbours = play("fork_bomb", weakness)[1:]
    assert any(seat.verdict is Verdict.ERROR for seat in neighbours)
    assert play("daemon", weakness)[0].uids == play("daemon", weakness)[0].uids


def test_every_weakness_is_tested() -> None:
    assert {*BREACHING_AGENTS, "shared uid", "none"} == set(WEAKNESSES)
    assert len(WEAKNESSES) == 9
    assert {name for names in BREACHING_AGENTS.values() for name in names} <= {
        a.name for a in HOSTILE
    }
