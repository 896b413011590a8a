"""Without any one protection, the agents written for it report a breach.

In test_hostile_matches.py the same agents meet every protection.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import docker
import pytest

from games.protocol import Verdict
from sandbox.match import loans
from tests.integration.sandbox import hostile
from tests.integration.sandbox.conftest import require
from tests.integration.sandbox.hostile import Seat
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

Play = Callable[[str], list[Seat]]


@pytest.fixture
def play(
    request: pytest.FixtureRequest, short_folder: Callable[[], Path], launcher: str, weakness: str
) -> Iterator[Play]:
    """Play one match of an agent between honest neighbours on a node without that protection."""
    require(launcher)
    folder = short_folder()
    with started_as(weakness, folder) as program:
        options = ("--profile", "python", "--warm", "1", "--memory-mb", str(hostile.MEMORY_MB))
        node = start_node(folder, launcher, *options, python=program)
    image = loans.node_hello(node.socket).image_digests["python"]

    def match(name: str) -> list[Seat]:
        bundles = [hostile.pack(name, folder)] + [hostile.pack("neighbour", folder)] * 2
        return hostile.play(node.socket, bundles, clock=BY_NAME[name].clock)

    try:
        yield match
    finally:
        node.stop()
        if launcher == "docker" and WEAKNESSES[weakness].box:
            with (
                contextlib.closing(docker.from_env()) as engine,
                contextlib.suppress(docker.errors.NotFound),  # another test removed it
            ):
                engine.images.remove(image, force=True)


@pytest.mark.parametrize(
    ("launcher", "weakness"), [c for c in CASES if c.values[1] in BREACHING_AGENTS]
)
def test_hostile_agents_breach_each_weakened_box(play: Play, launcher: str, weakness: str) -> None:
    for name in BREACHING_AGENTS[weakness]:
        assert play(name)[0].breaches, f"{name} notices nothing"


@pytest.mark.parametrize(
    ("launcher", "weakness"), [c for c in CASES if c.values[1] == "shared uid"]
)
def test_with_a_shared_uid_an_agent_starves_other_seats(
    play: Play, launcher: str, weakness: str
) -> None:
    neighbours = play("fork_bomb")[1:]
    assert any(seat.verdict is Verdict.ERROR for seat in neighbours)
    assert play("daemon")[0].uids == play("daemon")[0].uids


def test_every_weakness_is_tested() -> None:
    assert {*BREACHING_AGENTS, "shared uid", "none"} == set(WEAKNESSES)
    assert len(WEAKNESSES) == 9
    assert {name for names in BREACHING_AGENTS.values() for name in names} <= {
        a.name for a in HOSTILE
    }
