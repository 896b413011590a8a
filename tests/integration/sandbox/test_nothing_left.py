"""Whoever dies in a match, nothing of it stays on the host, and nobody is blamed for it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from sandbox.errors import HostFault
from sandbox.match import loans
from tests.daemon import daemon_of
from tests.integration.own_engine import OwnEngine, running
from tests.integration.sandbox.census import PROMISED_SECONDS, Census, Taker, wait_until
from tests.integration.sandbox.conftest import ISOLATING, require
from tests.integration.sandbox.nodes import (
    MEMORY_MB,
    ROOT,
    Node,
    Player,
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
"""Processes and files all over its box."""
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
    """A node with one box at a time, and what is taken of it."""

    node: Node
    taker: Taker
    players: list[Player] = field(default_factory=list)

    def borrow(self, source: str = SPREADER, seconds: float = 60) -> Player:
        path = self.node.run_dir / f"agent-{len(source)}.py"
        path.write_text(source)
        request = loans.SeatRequest("python", path, MEMORY_MB)
        player = Player(loans.borrow(self.node.socket, request, seconds))
        self.players.append(player)
        player.start()
        return player

    def match(self) -> tuple[Player, int]:
        """A match in its middle, and the uid it runs with."""
        player = self.borrow()
        uid = player.move(step=0)
        assert len(processes_of_box(uid)) >= 5
        self.taker.take()
        return player, uid

    def idle(self) -> Census:
        """What is there when one match has been played and its box waits."""
        player, _ = self.match()
        assert player.loan.end().clean
        return self.taker.settled()

    def again_as(self, before: Census, uid: int, what: str) -> None:
        """Wait until there is as much of everything as before, and the uid is free."""
        told(
            wait_until(
                lambda: (
                    self.taker.take().move_costs == before.move_costs and uid not in uids_on_host()
                ),
                lambda: (self.taker.take().all - before.all, before.all - self.taker.take().all),
            ),
            what,
        )

    def nothing_left(self, what: str, but: Callable[[str], bool] = lambda _: False) -> None:
        """Wait until nothing is left but what is named."""

        def left() -> list[str]:
            return sorted(entry for entry in self.taker.take().all if not but(entry))

        told(wait_until(lambda: not left(), left), what)


def told(seconds: float, what: str) -> None:
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


@pytest.fixture(params=ISOLATING)
def watched_node(
    request: pytest.FixtureRequest, short_folder: Callable[[], Path]
) -> Iterator[WatchedNode]:
    launcher: str = request.param
    require(launcher)
    node = start_node(short_folder(), launcher, "--warm", "0", "--profile", "python")
    made = WatchedNode(node, Taker(node, engine_of(launcher)))
    yield made
    for player in made.players:  # a test that failed has not ended them
        with contextlib.suppress(HostFault):
            player.loan.end()
    if node.process.poll() is None:
        node.stop()


def test_a_normal_end_leaves_the_box_as_it_was(watched_node: WatchedNode) -> None:
    before = watched_node.idle()
    player, uid = watched_node.match()
    assert player.loan.end().clean
    watched_node.again_as(before, uid, "a normal end")


def test_a_killed_worker_leaves_the_box_as_it_was(watched_node: WatchedNode) -> None:
    before = watched_node.idle()
    program = f"""
import sys, time
from pathlib import Path
sys.path.insert(0, {str(ROOT)!r})
from tests.integration.sandbox.test_nothing_left import WatchedNode
from tests.integration.sandbox.nodes import Node
socket, run_dir = {str(watched_node.node.socket)!r}, {str(watched_node.node.run_dir)!r}
node = Node(None, Path(socket), Path(run_dir), None)
player = WatchedNode(node, None).borrow()
print(player.move(step=0), flush=True)
time.sleep(100)
"""
    worker = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert worker.stdout is not None
    uid = int(worker.stdout.readline())
    assert len(processes_of_box(uid)) >= 5
    worker.kill()
    worker.wait()
    worker.stdout.close()
    watched_node.again_as(before, uid, "kill -9 of the worker")


def test_a_killed_daemon_leaves_nothing_on_the_host(watched_node: WatchedNode) -> None:
    player, _ = watched_node.match()
    os.kill(daemon_of(watched_node.node.process.pid), signal.SIGKILL)
    watched_node.nothing_left("kill -9 of the daemon")
    assert watched_node.node.process.wait(10) == 128 + signal.SIGKILL
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


def test_a_stopped_node_leaves_nothing_on_the_host(watched_node: WatchedNode) -> None:
    player, _ = watched_node.match()
    assert watched_node.node.stop() == 0
    watched_node.nothing_left("SIGTERM")
    with pytest.raises(HostFault):
        player.loan.end()


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


def test_a_supervisor_killed_from_outside_is_a_host_fault(watched_node: WatchedNode) -> None:
    if os.geteuid() != 0:
        pytest.skip("where all have one uid the agent can do it too")
    player, uid = watched_node.match()
    os.kill(watched_node.taker.supervisor(), signal.SIGKILL)
    with pytest.raises(HostFault, match="from outside"):
        player.loan.end()
    told(wait_until(lambda: not processes_of_box(uid), lambda: processes_of_box(uid)), "kill -9")
    wait_until(lambda: watched_node.taker.take().uids == frozenset(), watched_node.taker.take)
    again, _ = watched_node.match()
    assert again.loan.end().clean


def test_an_agent_is_to_blame_for_filling_memory_files(
    watched_node: WatchedNode,
) -> None:
    player = watched_node.borrow(EATER)
    with pytest.raises(EOFError):
        player.act(30, step=0)
    assert player.loan.end().out_of_memory


@pytest.fixture(scope="module")
def own_engine() -> Iterator[OwnEngine]:
    with running() as engine:
        yield engine


@pytest.fixture
def movable(
    own_engine: OwnEngine, short_folder: Callable[[], Path], monkeypatch: pytest.MonkeyPatch
) -> Iterator[WatchedNode]:
    """A node whose engine the test may restart."""
    monkeypatch.setenv("DOCKER_HOST", own_engine.address)
    node = start_node(short_folder(), "docker", "--warm", "0", "--profile", "python")
    yield WatchedNode(node, Taker(node, own_engine.address))
    assert node.stop() == 0, node.log.read_text()


@pytest.mark.docker
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_restarted_engine_leaves_nothing_of_the_match(
    own_engine: OwnEngine, movable: WatchedNode, how: signal.Signals
) -> None:
    movable.idle()
    player, _ = movable.match()
    own_engine.end(how)
    own_engine.start()
    with pytest.raises(EOFError):
        player.act(30, step=1)
    with pytest.raises(HostFault, match=r"engine was restarted|from outside"):
        player.loan.end()

    kept = {str(movable.node.socket), str(movable.node.run_dir / "boxes")}
    shown_to_all = str(movable.node.run_dir / "facts")  # the node's own, made once

    def left() -> list[str]:
        census = movable.taker.take()
        files = {file for file in census.files if not file.startswith(shown_to_all)}
        return sorted({*census.uids, *census.mounts, *census.containers, *files} - kept)

    told(wait_until(lambda: not left(), left), f"the engine answers again after {how.name}")
    again, _ = movable.match()
    assert again.loan.end().clean
    assert len(movable.taker.take().containers) == 1


@pytest.mark.docker
def test_a_loan_waits_for_a_stopped_engine(own_engine: OwnEngine, movable: WatchedNode) -> None:
    movable.idle()
    own_engine.end(signal.SIGTERM)
    with pytest.raises(HostFault, match="in time"):
        movable.borrow(seconds=1.0)
    asked = threading.Event()

    def ask() -> Player:
        asked.set()
        return movable.borrow()

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(ask)
        asked.wait()
        own_engine.start()
        assert waiting.result().loan.end().clean
