"""A node whose boxes take long to start."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from sandbox import profiles
from sandbox.box import wire
from sandbox.errors import HostFault
from sandbox.launchers import cgroups, supervisor_client
from sandbox.launchers.base import Box, BoxSpec
from sandbox.match import loans
from tests.integration.sandbox.conftest import require
from tests.integration.sandbox.nodes import MEMORY_MB, READY_SECONDS, ROOT, STATE, Node, Player

pytestmark = pytest.mark.bubblewrap

_begun: list[subprocess.Popen[str]] = []
END_SECONDS = 240
"""Far more than a node takes to end, far less than a start may take."""
SLOW = """#!/bin/sh
# Starts the node's first box normally, and never any other box.
case " $* " in
  *" --help "*) exec {real} "$@" ;;
esac
if mkdir {folder}/probed 2>/dev/null; then exec {real} "$@"; fi
echo $$ >>{folder}/started
exec sleep 1000
"""


@pytest.fixture(autouse=True)
def no_node_stays() -> Iterator[None]:
    """End the processes that a failed test has left."""
    yield
    while _begun:
        process = _begun.pop()
        process.kill()
        process.wait()


def slow_bubblewrap(folder: Path) -> dict[str, str]:
    """An environment in which every box after the first one never starts."""
    real = shutil.which("bwrap")
    programs = folder / "bin"
    programs.mkdir()
    (programs / "bwrap").write_text(SLOW.format(real=real, folder=folder))
    (programs / "bwrap").chmod(0o755)
    return {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}


def started(folder: Path) -> list[int]:
    """The pids of the boxes that never start."""
    file = folder / "started"
    return [int(line) for line in file.read_text().split()] if file.exists() else []


def begin(folder: Path, environment: dict[str, str], *options: str) -> Node:
    """Start a node in this folder; returns when it answers."""
    socket, log = folder / "node.sock", folder / "node.log"
    command = [sys.executable, "-m", "sandbox.node", "--socket", str(socket)]
    command += ["--run-dir", str(folder / "run"), "--state-dir", str(STATE)]
    command += ["--launcher", "bubblewrap", "--memory-mb", str(MEMORY_MB)]
    with log.open("a") as out:
        process = subprocess.Popen(
            [*command, *options], cwd=ROOT, stderr=out, env=environment, text=True
        )
    node = Node(process, socket, folder, log)
    _begun.append(process)
    wait_until(lambda: answers(node), node)
    return node


def answers(node: Node) -> bool:
    assert node.process.poll() is None, node.log.read_text()
    try:
        loans.node_hello(node.socket)
    except HostFault:
        return False
    return True


def wait_until(holds: Callable[[], bool], node: Node) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while not holds():
        assert time.monotonic() < deadline, node.log.read_text()
        time.sleep(0.05)


def living(pids: list[int]) -> list[int]:
    return [pid for pid in pids if Path(f"/proc/{pid}").exists()]


def test_stopping_node_does_not_wait_for_starts(
    short_folder: Callable[[], Path],
) -> None:
    require("bubblewrap")
    folder = short_folder()
    node = begin(folder, slow_bubblewrap(folder), "--profile", "python", "--warm", "12")
    wait_until(lambda: bool(started(folder)), node)
    node.process.send_signal(signal.SIGTERM)
    try:
        assert node.process.wait(END_SECONDS) == 0, node.log.read_text()
    finally:
        node.process.kill()
    assert living(started(folder)) == []
    assert len(started(folder)) < 12, "starts that had not begun were cancelled"


def test_node_waits_for_an_ending_node(short_folder: Callable[[], Path]) -> None:
    require("bubblewrap")
    folder = short_folder()
    first = begin(folder, slow_bubblewrap(folder), "--profile", "python", "--warm", "4")
    wait_until(lambda: bool(started(folder)), first)
    first.process.send_signal(signal.SIGSTOP)  # its guard is late
    first.process.send_signal(signal.SIGTERM)
    command = [sys.executable, "-m", "sandbox.node", "--socket", str(folder / "node.sock")]
    command += ["--run-dir", str(folder / "run"), "--state-dir", str(STATE), "--patience", "60"]
    command += ["--launcher", "bubblewrap", "--profile", "python", "--warm", "0"]
    with (folder / "second.log").open("w") as out:
        second = subprocess.Popen(command, cwd=ROOT, stderr=out, text=True)
    _begun.append(second)
    time.sleep(1)
    assert second.poll() is None, (folder / "second.log").read_text()
    first.process.send_signal(signal.SIGCONT)
    assert first.process.wait(END_SECONDS) == 0
    node = Node(second, folder / "node.sock", folder, folder / "second.log")
    wait_until(lambda: answers(node), node)
    assert node.stop() == 0


def test_node_lends_its_first_profile_while_it_prepares_others(
    short_folder: Callable[[], Path],
) -> None:
    require("bubblewrap")
    folder = short_folder()
    node = begin(folder, dict(os.environ), "--warm", "1")
    wait_until(lambda: "python" in loans.node_hello(node.socket).profiles, node)
    agent = folder / "agent.py"
    agent.write_text("def agent(obs):\n    return obs.step + 1\n")
    for profile in ("numpy", "python"):
        request = loans.SeatRequest(profile, agent, MEMORY_MB)
        with loans.borrow(node.socket, request, 60) as loan:
            player = Player(loan)
            player.start()
            assert player.move(step=1) == 2
    assert node.stop() == 0
    told = node.log.read_text()
    assert told.index("lends numpy by bubblewrap") < told.index("lends python too")


@dataclass
class Starting:
    """A starting box as the node sees it: its connection, and a process in its group."""

    box: Box
    theirs: socket.socket
    process: subprocess.Popen[bytes]


@pytest.fixture
def computing() -> Iterator[Starting]:
    """A box whose only process computes without end."""
    groups = cgroups.find_match_groups(f"peck-test-{secrets.token_hex(4)}")
    assert groups is not None
    group = groups.create("box")
    ours, theirs = socket.socketpair()
    process = subprocess.Popen(["/bin/sh", "-c", "read line; while :; do :; done"], stdin=-1)
    os.write(group.entry, str(process.pid).encode())
    assert process.stdin is not None
    process.stdin.write(b"go\n")
    process.stdin.close()
    box = Box(BoxSpec("box", profiles.get_profile("python"), 64, 0), ours, {}, None, group=group)
    yield Starting(box, theirs, process)
    process.kill()
    process.wait()
    ours.close()
    theirs.close()
    groups.sweep()


def test_endless_start_ends_at_its_cpu_limit(computing: Starting) -> None:
    with pytest.raises(HostFault, match=r"more than 0\.5 s of cpu time"):
        supervisor_client.set_up_box(computing.box, cpu_seconds=0.5)
    assert computing.box.group is not None
    assert computing.box.group.cpu_seconds() >= 0.5


def test_start_without_a_core_does_not_fail(computing: Starting) -> None:
    computing.process.send_signal(signal.SIGSTOP)
    answer = threading.Timer(0.8, wire.send_frame, (computing.theirs, {"op": "ready"}))
    answer.start()
    supervisor_client.set_up_box(computing.box, cpu_seconds=0.4)
    answer.join()


def test_sleeping_start_ends_at_its_wall_limit(computing: Starting) -> None:
    computing.process.send_signal(signal.SIGSTOP)
    with pytest.raises(HostFault, match="did not answer in time"):
        supervisor_client.set_up_box(computing.box, seconds=0.5)


def test_abandoned_start_ends(computing: Starting) -> None:
    giving_up = threading.Timer(0.5, computing.box.disconnect)
    giving_up.start()
    with pytest.raises(HostFault, match="closed"):
        supervisor_client.set_up_box(computing.box)
    giving_up.join()
