"""A node run by an ordinary user names its missing abilities and enforces all others.

Probes answer with their successes, so that a test compares findings and not silence.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from sandbox.errors import HostFault
from sandbox.launchers import degraded_defences
from sandbox.match import loans, steal_monitor
from sandbox.match.bundle_packing import prepare_bundle
from tests import typed
from tests.integration.counting import Snakes, State
from tests.integration.sandbox import ordinary
from tests.integration.sandbox.conftest import require
from tests.integration.sandbox.nodes import (
    MEMORY_MB,
    READY_SECONDS,
    ROOT,
    Bench,
    Node,
    Probe,
    failing,
    still_works,
)

pytestmark = pytest.mark.bubblewrap


@pytest.fixture(scope="module")
def folder(short_folder: Callable[[], Path]) -> Path:
    """A folder that belongs to the ordinary user; skips if that user can run no programs."""
    require("bubblewrap")
    made = short_folder()
    reason = ordinary.missing(made)
    if reason is not None:
        pytest.skip(reason)
    return made


@pytest.fixture(scope="module")
def lent(folder: Path) -> Iterator[Bench]:
    """A bubblewrap node of an ordinary user."""
    socket, log = folder / "node.sock", folder / "node.log"
    words = [sys.executable, "-m", "sandbox.node", "--socket", str(socket)]
    words += ["--run-dir", str(folder / "run"), "--launcher", "bubblewrap", "--profile", "python"]
    words += ["--memory-mb", str(MEMORY_MB), "--warm", "1", "--parent", str(os.getpid())]
    with log.open("w") as out:
        process = subprocess.Popen(
            ordinary.command(folder, *words), cwd=ROOT, stderr=out, text=True
        )
    node = Node(process, socket, folder / "run", log)
    deadline = time.monotonic() + READY_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        with contextlib.suppress(HostFault):
            loans.node_hello(socket, 5)
            break
        time.sleep(0.05)
    assert process.poll() is None, log.read_text()
    (agents := folder / "agents").mkdir()
    yield Bench(node, "bubblewrap", agents)
    assert node.stop() == 0, log.read_text()


@pytest.fixture(scope="module")
def probe(lent: Bench) -> Iterator[Probe]:
    with lent.prober() as asked:
        yield asked


@pytest.fixture(scope="module")
def killed(lent: Bench) -> Iterator[Sequence[Future[None]]]:
    """Attacks on boxes from inside, beside the first tests.

    The node waits seconds for a box that is stopped.
    """

    def attack(number: str) -> None:
        body = f"""
def agent(obs):
    for pid in [int(p) for p in os.listdir("/proc") if p.isdigit() and int(p) != os.getpid()]:
        os.kill(pid, signal.{number})
    os.kill(os.getpid(), signal.SIGKILL)
"""
        with contextlib.suppress(EOFError):
            failing(lent, body)

    with ThreadPoolExecutor(1) as pool:
        yield [pool.submit(attack, number) for number in ("SIGKILL", "SIGINT", "SIGSTOP")]


@pytest.mark.usefixtures("killed")
def test_the_node_and_the_doctor_report_the_same_missing_protections(
    lent: Bench, folder: Path
) -> None:
    asked = subprocess.run(
        ordinary.command(folder, sys.executable, "-m", "services.cli", "doctor", "--json"),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "HOME": str(folder), "DOCKER_HOST": "unix:///nowhere"},
    )
    assert asked.returncode == 0, asked.stderr
    report = json.loads(asked.stdout)
    assert report["launcher"] == "bubblewrap"
    named = [f"{row['attack']}: {row['costs']}" for row in report["degraded"]["bubblewrap"]]
    assert list(loans.node_hello(lent.node.socket).lacks) == named
    program = "from sandbox.match.steal_monitor import *; print(may_run_above_others())"
    allowed = subprocess.run(
        ordinary.command(folder, sys.executable, "-c", program),
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    unseen = degraded_defences.sentences_for_lack("no thread above all others")
    if not steal_monitor.may_have_hypervisor() or allowed.stdout.strip() == "True":
        unseen = ()
    expected = (*degraded_defences.sentences_for_lack("bubblewrap without root"), *unseen)
    if os.geteuid() == 0:  # under root, the ordinary user has no delegated groups
        assert tuple(named) == expected
    assert set(named) <= set(expected)


def test_an_honest_match_is_played(lent: Bench, folder: Path) -> None:
    agents = [str(ROOT / "agents" / "hungry_geese" / name) for name in ("greedy", "random_legal")]
    played = typed.peck(
        folder,
        dict(os.environ),
        *("run", "hungry_geese", *agents),
        *("--node", str(lent.node.socket), "--profile", "python", "--seed", "7", "--json"),
        *("--memory-mb", str(MEMORY_MB), "--out", str(folder / "played")),
        *("--config", "episodeSteps=30"),
    )
    assert played.returncode == 0, played.stderr
    result = json.loads(played.stdout)
    assert {seat["verdict"] for seat in result["seats"]} == {"DONE"}


def test_a_box_is_used_for_one_match_only(lent: Bench) -> None:
    source = """
import os
def agent(obs):
    found = os.listdir("/tmp")
    open("/tmp/mark", "w").write("left")
    return [found, os.listdir("/tmp"), os.getuid()]
"""
    bundle = lent.bundle(source)
    for _ in range(2):
        with lent.seat(bundle) as player:
            player.start()
            assert player.move(step=0) == [[], ["mark"], 1000]


def test_every_privilege_is_gone(probe: Probe) -> None:
    source = """
import os
def agent(obs):
    with open("/proc/self/status") as file:
        status = dict(line.rstrip().split(":", 1) for line in file)
    fields = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp")
    return {f: int(status[f], 16) for f in fields}
"""
    found = probe(source)
    assert found.pop("NoNewPrivs") == 1
    assert found.pop("Seccomp") == 2
    assert set(found.values()) == {0}


def test_the_network_is_refused(probe: Probe) -> None:
    source = """
import socket
def attempt(family, kind):
    try:
        socket.socket(family, kind).close()
        return "made"
    except OSError as error:
        return error.errno
def agent(obs):
    families = ("INET", "INET6", "PACKET", "NETLINK", "VSOCK", "ALG")
    return [attempt(getattr(socket, "AF_" + name), kind) for name in families for kind in (1, 2, 3)]
"""
    assert set(probe(source)) == {97}


def test_no_file_of_the_host_can_be_read(lent: Bench, probe: Probe) -> None:
    secret = lent.folder / "secret.txt"
    secret.write_text("secret")
    secret.chmod(0o644)
    source = f"""
import os
def readable(path):
    try:
        return bool(os.listdir(path)) if os.path.isdir(path) else bool(open(path, "rb").read(1))
    except OSError:
        return False
def agent(obs):
    return [path for path in (
        {str(secret)!r}, {str(ROOT)!r}, {str(lent.node.run_dir)!r}, "/etc/group", "/etc/shadow",
        "/root", "/home", "/var", "/run", "/boot", "/proc/1/root/etc", "/proc/1/cwd",
        "/proc/kcore", "/proc/kmsg", "/proc/keys", "/sys/kernel") if readable(path)]
"""
    assert probe(source) == []


def test_only_the_scratch_folder_can_be_written(probe: Probe) -> None:
    source = """
import os
def attempt(act):
    try:
        act()
        return "done"
    except OSError as error:
        return error.errno
def agent(obs):
    folders = ("/", "/etc", "/usr/lib", "/peck", "/peck/peckbox", "/peck/python/bin",
        "/kaggle_simulations", "/run", "/var", "/dev", "/dev/shm", "/proc", "/proc/sys/kernel")
    made = {folder: attempt(lambda: open(folder + "/x", "w").close()) for folder in folders}
    made["core_pattern"] = attempt(lambda: open("/proc/sys/kernel/core_pattern", "w"))
    made["device"] = attempt(lambda: os.mknod("/tmp/sda", 0o60666, os.makedev(8, 0)))
    made["scratch"] = attempt(lambda: open("/tmp/x", "w").close())
    return made
"""
    found = probe(source)
    assert found.pop("scratch") == "done"
    assert {where for where, outcome in found.items() if outcome == "done"} == set()


def test_other_processes_cannot_be_read_or_traced(probe: Probe) -> None:
    source = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def readable(path):
    try:
        return bool(open(path, "rb").read(1))
    except OSError:
        return False
def call(number, *words):
    ctypes.set_errno(0)
    done = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(word) for word in words])
    return "done" if done != -1 else ctypes.get_errno()
def agent(obs):
    arm = os.uname().machine == "aarch64"
    ptrace, vm_readv, vm_writev, getfd = (117, 270, 271, 438) if arm else (101, 310, 311, 438)
    others = [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and int(pid) != os.getpid()]
    secrets = ("environ", "mem", "maps", "stack", "auxv", "syscall")
    return [
        len(others),
        [p for pid in others for name in secrets if readable(p := f"/proc/{pid}/{name}")],
        sorted({call(ptrace, 16, pid, 0, 0) for pid in others}),
        sorted({call(vm_readv, pid, 0, 0, 0, 0, 0) for pid in others}),
        sorted({call(vm_writev, pid, 0, 0, 0, 0, 0) for pid in others}),
        sorted({call(getfd, os.pidfd_open(pid), 0, 0) for pid in others}),
    ]
"""
    count, read, *traced = probe(source)
    assert 1 <= count <= 3  # supervisor, zygote, a pre-forked child
    assert read == []
    assert traced == [[1]] * 4


def test_privileged_system_calls_are_refused(probe: Probe) -> None:
    source = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
X86 = dict(unshare=272, setns=308, mount=165, umount=166, pivot_root=155, chroot=161, fsopen=430,
    open_tree=428, setuid=105, setresuid=117, setgroups=116, capset=126, keyctl=250, bpf=321,
    io_uring=425, userfaultfd=323, perf=298, open_by_handle=304)
ARM = dict(unshare=97, setns=268, mount=40, umount=39, pivot_root=41, chroot=51, fsopen=430,
    open_tree=428, setuid=146, setresuid=147, setgroups=159, capset=91, keyctl=219, bpf=280,
    io_uring=425, userfaultfd=282, perf=241, open_by_handle=265)
def call(number):
    ctypes.set_errno(0)
    done = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(0)] * 5)
    return "done" if done != -1 else ctypes.get_errno()
def agent(obs):
    numbers = ARM if os.uname().machine == "aarch64" else X86
    found = {name: call(number) for name, number in numbers.items()}
    clone = 220 if os.uname().machine == "aarch64" else 56
    ctypes.set_errno(0)
    pid = libc.syscall(ctypes.c_long(clone), ctypes.c_long(0x10000000 | 17), 0, 0, 0, 0)
    found["clone"] = ctypes.get_errno() if pid < 0 else "done"
    return [found, os.getresuid()]
"""
    found, uids = probe(source)
    assert {name for name, outcome in found.items() if outcome != 1} == set(), found
    assert uids == [1000, 1000, 1000]


def test_no_socket_of_the_host_can_be_reached(lent: Bench) -> None:
    source = f"""
import os, socket
def attempt(address):
    try:
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(address)
        return "connected"
    except OSError as error:
        return error.errno
def agent(obs):
    names = ({str(lent.node.socket)!r}, "/var/run/docker.sock", "/run/dbus/system_bus_socket",
             "/tmp/.X11-unix/X0", "\\0/tmp/.X11-unix/X0")
    return [[attempt(name) for name in names], list(map(int, os.listdir("/proc/self/fd")))]
"""
    refused, descriptors = lent.findings(source, step=0)
    assert set(refused) <= {2, 13, 111}
    assert set(descriptors) <= {0, 1, 2, 3, 4}  # the last is the listing's own


def test_a_fork_bomb_harms_no_other_seat(lent: Bench) -> None:
    source = """
import os, time
def agent(obs):
    count = 0
    try:
        while count < 500:
            if os.fork() == 0:
                time.sleep(600)
            count += 1
    except OSError:
        pass
    return count
"""
    beside = lent.bundle("def agent(obs):\n    return 'beside'\n")
    with lent.seat(beside) as honest, lent.seat(lent.bundle(source)) as bomb:
        honest.start()
        bomb.start()
        assert 1 <= bomb.move(step=0) < 44
        assert honest.move(step=0) == "beside"
    still_works(lent)


def test_thousands_of_files_are_removed_with_their_box(lent: Bench) -> None:
    source = """
import os
def agent(obs):
    found = os.listdir("/tmp")
    for number in range(6000):
        open(f"/tmp/{number}", "w").close()
    return found
"""
    bundle = lent.bundle(source)
    for _ in range(2):
        with lent.seat(bundle) as player:
            player.start()
            assert player.move(step=0) == []


def test_memory_is_bounded_per_process(probe: Probe) -> None:
    source = """
def agent(obs):
    try:
        held = bytearray(1 << 30)
    except MemoryError:
        return "refused"
    return len(held)
"""
    assert probe(source) == "refused"


def test_the_kernel_ends_a_box_before_other_processes_of_the_host(
    lent: Bench, probe: Probe
) -> None:
    if "memory" not in {lack.split(":")[0] for lack in loans.node_hello(lent.node.socket).lacks}:
        pytest.skip("this user may make groups, so memory is bounded by those")
    source = """
def agent(obs):
    try:
        open("/proc/self/oom_score_adj", "w").write("0")
        return "lowered"
    except OSError:
        return int(open("/proc/self/oom_score_adj").read())
"""
    assert probe(source) == 1000


def test_a_server_agent_answers_moves(lent: Bench) -> None:
    source = ROOT / "tests" / "agents" / "contracts" / "simple_server"
    with lent.seat(prepare_bundle(source, lent.folder)) as player:
        assert player.start() == {"k": "ready", "contract": "http"}
        seen = Snakes().observe(State(2, 0, (0,), ()), 0)
        for _ in range(3):
            assert player.move(**seen, remainingOverageTime=0)["move"] == "up"
        assert player.loan.end().signal is None


def test_killing_the_box_is_no_host_fault(lent: Bench, killed: Sequence[Future[None]]) -> None:
    for attack in killed:
        attack.result()  # HostFault would void the match for the others
    still_works(lent)
