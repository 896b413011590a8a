"""gVisor as a runtime, where the engine has it registered (deploy/runbook.md says how).

A box has its own kernel, which enforces most limits; some rows are weaker. The engine is the one of
DOCKER_HOST, so a private engine works too.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import docker
import pytest

from games.protocol import Verdict
from sandbox import profiles
from sandbox.errors import HostFault
from sandbox.launchers import degraded_defences, docker_engine
from sandbox.launchers.docker import describe_engine
from sandbox.match import loans
from sandbox.match.clock import Clock
from tests.integration.sandbox import hostile
from tests.integration.sandbox.census import wait_until
from tests.integration.sandbox.conftest import require
from tests.integration.sandbox.hostile_table import BY_NAME
from tests.integration.sandbox.nodes import MEMORY_MB, ROOT, Bench, Node, Player, start_node

pytestmark = pytest.mark.docker

HELD = (
    "kernel_calls", "own_filters", "mounts", "namespaces", "network", "listens", "traces",
    "passes_descriptors", "looks_for_secrets", "set_uid", "control_groups", "socket_folder",
    "kills_supervisor", "daemon", "leaves_marks", "fills_tmp", "thread_bomb",
)  # fmt: skip
"""Agents that end here as everywhere, and whose box takes their second match."""
BOMBS = ("memory_bomb", "memory_creep", "memory_in_files", "fork_bomb")
"""Agents that end their whole box."""
OPTIONS = ("--runtime", docker_engine.GVISOR, "--profile", "python")


def slow(clock: Clock) -> Clock:
    """A wider clock: a system call takes five times as long here, and a fork ten times."""
    return replace(clock, act_seconds=4.0, bank_seconds=2.0)


def boxes_of(engine: docker.DockerClient, node: Node) -> list[Any]:
    """The containers of this node."""
    found = engine.containers.list(all=True, ignore_removed=True)
    return [one for one in found if str(node.run_dir) in str(one.attrs["HostConfig"]["Binds"])]


def processes_of_container(container: str) -> list[int]:
    """Pids on this host of the runtime that runs the container."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if container.encode() in path.read_bytes():
                found.append(int(path.parent.name))
    return found


@pytest.fixture(scope="module")
def gvisor(short_folder: Callable[[], Path]) -> Iterator[Bench]:
    require("docker")
    known = describe_engine().get("Runtimes") or {}
    if docker_engine.GVISOR not in known:
        pytest.skip(f"the engine has no runtime {docker_engine.GVISOR!r}: {docker_engine.REMEDY}")
    folder = short_folder()
    node = start_node(folder, "docker", *OPTIONS, "--warm", "1", "--keep", "40")
    yield Bench(node, "docker", folder)
    assert node.stop() == 0, node.log.read_text()


def test_an_honest_agent_plays_twice_in_one_clean_box(gvisor: Bench) -> None:
    bundle = gvisor.bundle("""
import os
print("import")
def agent(obs):
    with open(f"/tmp/{obs.step}", "w") as file:
        file.write("x" * 1000)
    print("step", obs.step)
    return [os.getuid(), os.uname().release, os.listdir("/tmp")]
""")
    uids = []
    for _ in range(2):
        with gvisor.seat(bundle) as player:
            assert player.start() == {"k": "ready"}
            uid, release, files = player.move(step=0)
            assert (release != os.uname().release, files) == (True, ["0"])
            assert player.move(step=1)[2] == ["0", "1"]
            ending = player.loan.end()
        assert ending.clean
        assert (ending.exit_code, ending.signal, ending.out_of_memory) == (None, None, False)
        assert [(log.step, log.stdout) for log in ending.log] == [
            (0, "import\n"), (1, "step 0\n"), (2, "step 1\n"),
        ]  # fmt: skip
        uids.append(uid)
    assert uids[1] == uids[0] + 1, "the second match was not played in the same box"


def test_the_node_names_its_missing_protections(gvisor: Bench) -> None:
    hello = loans.node_hello(gvisor.node.socket)
    assert set(degraded_defences.sentences_for_lack(degraded_defences.GVISOR)) <= set(hello.lacks)
    assert hello.gpus == 0
    with gvisor.borrow(gvisor.bundle("def agent(obs):\n    return 1\n")) as loan:
        assert loan.image_digest == hello.image_digests["python"]
        assert re.fullmatch(r"sha256:[0-9a-f]{64}\+runsc", loan.image_digest)
        meter = loan.meter
        meter.freeze()
        assert [meter.has_cpu, meter.can_forgive, meter.is_frozen] == [False, False, False]


@pytest.mark.parametrize("name", HELD)
def test_a_hostile_agent_costs_only_its_own_seat(gvisor: Bench, name: str) -> None:
    expected = BY_NAME[name]
    bundles = [hostile.pack(name, gvisor.folder), hostile.pack("neighbour", gvisor.folder)]
    boxes = []
    for _ in range(2):
        mine, other = hostile.play(gvisor.node.socket, bundles, clock=slow(expected.clock))
        assert mine.breaches == []
        assert mine.verdict in expected.verdicts, mine.reason
        assert (other.verdict, other.reason, other.breaches) == (Verdict.DONE, "", [])
        boxes.append(mine.uids[0] // 1000)
    assert boxes[0] == boxes[1], "its box was thrown away"


@pytest.mark.parametrize("name", BOMBS)
def test_a_memory_bomb_forfeits_every_time(gvisor: Bench, name: str) -> None:
    bundles = [hostile.pack(name, gvisor.folder), hostile.pack("neighbour", gvisor.folder)]
    clock = slow(BY_NAME[name].clock)
    for _ in range(4):
        mine, other = hostile.play(gvisor.node.socket, bundles, clock=clock)
        assert (mine.verdict, other.verdict) == (Verdict.ERROR, Verdict.DONE)
        assert "more than its 128 MB of memory" in mine.reason
        assert other.reason == ""


def test_an_agent_reads_no_secret_of_other_processes(gvisor: Bench) -> None:
    source = """
import os
def agent(obs):
    seen, entered = [], []
    for pid in {int(name) for name in os.listdir("/proc") if name.isdigit()} - {os.getpid()}:
        with open(f"/proc/{pid}/environ") as file:
            seen += [line.partition("=")[0] for line in file.read().split(chr(0)) if line]
        paths = [f"/proc/{pid}/mem", f"/proc/{pid}/root/peck"]
        paths += [f"/proc/{pid}/fd/{fd}" for fd in os.listdir(f"/proc/{pid}/fd") if fd != "0"]
        for path in paths:
            try:
                os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
                entered.append(path)
            except OSError:
                pass
    return [sorted(set(seen)), entered]
"""
    seen, entered = gvisor.findings(source, step=0)
    assert entered == []
    zygote = {"LANG", "PYTHONHASHSEED", *profiles.get_profile("python").environment}
    assert set(seen) <= {"PATH", "HOSTNAME", "HOME", *zygote}


def test_a_box_killed_through_the_engine_is_a_host_fault(gvisor: Bench) -> None:
    player = Player(gvisor.borrow(gvisor.bundle("def agent(obs):\n    return 'killed'\n")))
    player.start()
    with contextlib.closing(docker.from_env()) as engine:
        for container in boxes_of(engine, gvisor.node):
            container.kill()
    with pytest.raises(EOFError):
        player.act(30, step=0)
    with pytest.raises(HostFault, match="from outside"):
        player.loan.end()


@pytest.mark.usefixtures("gvisor")
def test_a_killed_daemon_leaves_no_box_or_runtime_process(
    short_folder: Callable[[], Path],
) -> None:
    folder = short_folder()
    node = start_node(folder, "docker", *OPTIONS, "--warm", "0")
    source = folder / "agent.py"
    source.write_text("def agent(obs):\n    return 1\n")
    request = loans.SeatRequest("python", source, MEMORY_MB)
    player = Player(loans.borrow(node.socket, request, 60))
    player.start()
    with contextlib.closing(docker.from_env()) as engine:
        (box,) = boxes_of(engine, node)
        assert processes_of_container(box.id)
        node.kill()
        with pytest.raises(HostFault):
            player.loan.end()
        wait_until(lambda: not boxes_of(engine, node), lambda: boxes_of(engine, node))
    wait_until(lambda: not processes_of_container(box.id), lambda: processes_of_container(box.id))


def test_the_runtime_takes_no_memory_from_the_agent(gvisor: Bench) -> None:
    source = """
import os, time
kept = []
def agent(obs):
    kept.extend(b"x" * (1 << 20) for _ in range(obs.megabytes))
    for _ in range(4):
        if os.fork() == 0:
            time.sleep(100)
    return len(kept)
"""
    usable = MEMORY_MB - 8
    assert gvisor.findings(source, step=0, megabytes=usable) == usable


@pytest.mark.parametrize(
    ("options", "refusal"),
    [
        (("docker", "nowhere"), r"knows no 'nowhere' .*/etc/docker/daemon\.json"),
        (("auto", "nowhere"), r"knows no 'nowhere' .*/etc/docker/daemon\.json"),
        (("bubblewrap", "runsc"), "bubblewrap has none"),
    ],
)
def test_an_unavailable_runtime_is_refused_in_one_line(
    short_folder: Callable[[], Path], options: tuple[str, str], refusal: str
) -> None:
    require("docker")
    folder = short_folder()
    launcher, runtime = options
    command = [sys.executable, "-m", "sandbox.node", "--socket", str(folder / "node.sock")]
    command += ["--run-dir", str(folder), "--launcher", launcher, "--runtime", runtime]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert re.search(refusal, line)
