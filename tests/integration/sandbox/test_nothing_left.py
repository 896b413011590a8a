"""After the death of any part in a match nothing stays on the host, and no agent is blamed."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from sandbox.errors import HostFault
from sandbox.match import loans
from tests.daemon import daemon_of
from tests.integration.sandbox.census import PROMISED_SECONDS, Census, Taker, wait_until
from tests.integration.sandbox.conftest import ISOLATING, require
from tests.integration.sandbox.nodes import (
    MEMORY_MB,
    ROOT,
    Node,
    Player,
    borrowing_worker,
    processes_of_box,
    start_node,
)

SPREADER = """
import os, time
def agent(obs):
    for _ in range(4):
        if os.fork() == 0:
            os.setsid()
            while True:
                time.sleep(1)
    open("/tmp/left", "w").write("x" * 100000)
    return os.getuid()
"""
"""An agent with processes and files all over its box."""
EATER = """
import os
def agent(obs):
    try:
        open("/proc/self/oom_score_adj", "w").write("0")  # as worthy to live as the supervisor
    except OSError:
        pass
    kept = []
    while True:
        kept.append(os.memfd_create("held by nobody's pages"))
        for _ in range(60):
            os.write(kept[-1], bytes(1 << 20))
"""


@dataclass
class WatchedNode:
    """A node with one box at a time, and its census."""

    node: Node
    taker: Taker
    players: list[Player] = field(default_factory=list)

    def bundle(self, source: str) -> Path:
        path = self.node.run_dir / f"agent-{len(source)}.py"
        path.write_text(source)
        return path

    def borrow(self, source: str = SPREADER, seconds: float = 60) -> Player:
        request = loans.SeatRequest("python", self.bundle(source), MEMORY_MB)
        player = Player(loans.borrow(self.node.socket, request, seconds))
        self.players.append(player)
        player.start()
        return player

    def match(self) -> tuple[Player, int]:
        """A running match, and its uid."""
        player = self.borrow()
        uid = player.move(step=0)
        assert len(processes_of_box(uid)) >= 5
        self.taker.take()
        return player, uid

    def idle(self) -> Census:
        """The census after one match, when the box waits."""
        player, _ = self.match()
        assert player.loan.end().clean
        return self.taker.settled()

    def again_as(self, before: Census, uid: int, what: str) -> None:
        """Wait until the census equals ``before`` and the uid is free."""
        print_wait(
            wait_until(
                lambda: (
                    self.taker.take().move_costs == before.move_costs and uid not in uids_on_host()
                ),
                lambda: (self.taker.take().all - before.all, before.all - self.taker.take().all),
            ),
            what,
        )

    def nothing_left(self, what: str, but: Callable[[str], bool] = lambda _: False) -> None:
        """Wait until nothing is left but the named exceptions."""

        def left() -> list[str]:
            return sorted(entry for entry in self.taker.take().all if not but(entry))

        print_wait(wait_until(lambda: not left(), left), what)


def print_wait(seconds: float, what: str) -> None:
    late = " (more than promised: is the machine busy?)" if seconds > PROMISED_SECONDS else ""
    print(f"nothing left {seconds:.2f} s after {what}{late}")


def uids_on_host() -> set[int]:
    found = set()
    for name in os.listdir("/proc"):
        try:
            found.add(os.stat(f"/proc/{int(name)}").st_uid)
        except (OSError, ValueError):
            continue
    return found


def engine_of(launcher: str) -> str | None:
    if launcher != "docker":
        return None
    return os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")


@contextlib.contextmanager
def _watched(launcher: str, folder: Path) -> Iterator[WatchedNode]:
    require(launcher)
    node = start_node(folder, launcher, "--warm", "0", "--profile", "python")
    made = WatchedNode(node, Taker(node, engine_of(launcher)))
    yield made
    for player in made.players:  # a failed test has not ended them
        with contextlib.suppress(HostFault):
            player.loan.end()
    if node.process.poll() is None:
        node.stop()


@pytest.fixture(params=ISOLATING)
def watched_node(
    request: pytest.FixtureRequest, short_folder: Callable[[], Path]
) -> Iterator[WatchedNode]:
    """A node that the test may kill."""
    with _watched(request.param, short_folder()) as made:
        yield made


@pytest.fixture(scope="module", params=ISOLATING)
def lasting_node(
    request: pytest.FixtureRequest, short_folder: Callable[[], Path]
) -> Iterator[WatchedNode]:
    """A node of several tests, of which the last one stops it."""
    with _watched(request.param, short_folder()) as made:
        yield made


def test_a_normal_end_leaves_the_box_as_it_was(lasting_node: WatchedNode) -> None:
    before = lasting_node.idle()
    player, uid = lasting_node.match()
    assert player.loan.end().clean
    lasting_node.again_as(before, uid, "a normal end")


def test_a_killed_worker_leaves_the_box_as_it_was(lasting_node: WatchedNode) -> None:
    before = lasting_node.idle()
    with borrowing_worker(lasting_node.node, lasting_node.bundle(SPREADER)) as (worker, uid):
        assert len(processes_of_box(uid)) >= 5
        worker.kill()
    lasting_node.again_as(before, uid, "kill -9 of the worker")


def test_a_supervisor_killed_from_outside_is_a_host_fault(lasting_node: WatchedNode) -> None:
    if os.geteuid() != 0:
        pytest.skip("where all have one uid the agent can do it too")
    player, uid = lasting_node.match()
    os.kill(lasting_node.taker.supervisor(), signal.SIGKILL)
    with pytest.raises(HostFault, match="from outside"):
        player.loan.end()
    print_wait(
        wait_until(lambda: not processes_of_box(uid), lambda: processes_of_box(uid)), "kill -9"
    )
    wait_until(lambda: lasting_node.taker.take().uids == frozenset(), lasting_node.taker.take)
    again, _ = lasting_node.match()
    assert again.loan.end().clean


def test_an_agent_is_to_blame_for_filling_memory_files(
    lasting_node: WatchedNode,
) -> None:
    player = lasting_node.borrow(EATER)
    with pytest.raises(EOFError):
        player.act(30, step=0)
    assert player.loan.end().out_of_memory


def test_a_stopped_node_leaves_nothing_on_the_host(lasting_node: WatchedNode) -> None:
    player, _ = lasting_node.match()
    assert lasting_node.node.stop() == 0
    lasting_node.nothing_left("SIGTERM")
    with pytest.raises(HostFault):
        player.loan.end()


def test_a_killed_daemon_leaves_nothing_on_the_host(watched_node: WatchedNode) -> None:
    player, _ = watched_node.match()
    os.kill(daemon_of(watched_node.node.process.pid), signal.SIGKILL)
    watched_node.nothing_left("kill -9 of the daemon")
    assert watched_node.node.process.wait(120) == 128 + signal.SIGKILL
    with pytest.raises(HostFault):
        player.loan.end()


def test_a_killed_guard_stops_its_daemon(watched_node: WatchedNode) -> None:
    player, _ = watched_node.match()
    watched_node.node.process.kill()
    watched_node.node.process.wait()
    watched_node.nothing_left("kill -9 of the guard")
    with pytest.raises(HostFault):
        player.loan.end()


def test_leftovers_of_a_node_killed_with_its_guard_can_be_removed(
    watched_node: WatchedNode,
) -> None:
    player, _ = watched_node.match()
    daemon = daemon_of(watched_node.node.process.pid)
    watched_node.node.process.send_signal(signal.SIGSTOP)
    os.kill(daemon, signal.SIGKILL)
    watched_node.node.process.kill()
    watched_node.node.process.wait()
    watched_node.nothing_left(
        "kill -9 of guard and daemon", lambda entry: entry.startswith(("files", "groups"))
    )
    with pytest.raises(HostFault):
        player.loan.end()
    command = [
        sys.executable,
        "-m",
        "sandbox.node.leftovers",
        "--run-dir",
        str(watched_node.node.run_dir),
    ]
    subprocess.run([*command, "--socket", str(watched_node.node.socket)], cwd=ROOT, check=True)
    assert watched_node.taker.take().all == frozenset()


def test_a_node_can_start_again_at_once_after_its_guard_was_killed(
    watched_node: WatchedNode,
) -> None:
    player, _ = watched_node.match()
    watched_node.node.process.kill()
    watched_node.node.process.wait()
    launcher = "docker" if watched_node.taker.engine else "bubblewrap"
    again = start_node(watched_node.node.run_dir, launcher, "--warm", "0", "--profile", "python")
    assert again.stop() == 0
    with pytest.raises(HostFault):
        player.loan.end()
