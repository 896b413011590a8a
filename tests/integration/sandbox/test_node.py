"""The daemon: access, answers to invalid requests, and its end."""

from __future__ import annotations

import contextlib
import os
import resource
import socket
import struct
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from sandbox.box import wire
from sandbox.errors import BundleRefused, HostFault
from sandbox.launchers import gpu
from sandbox.match import loans
from tests.daemon import daemon_of
from tests.integration.sandbox.conftest import require
from tests.integration.sandbox.nodes import (
    MEMORY_MB,
    ROOT,
    Bench,
    Player,
    start_node,
)
from tests.waiting import wait_until

OWN_UID = "import os\ndef agent(obs):\n    return os.getuid()\n"


def test_too_many_connections_do_not_stop_the_listener(short_folder: Callable[[], Path]) -> None:
    node = start_node(short_folder(), "process", "--profile", "python", "--warm", "0")
    try:
        daemon = daemon_of(node.process.pid)
        used = max(int(name) for name in os.listdir(f"/proc/{daemon}/fd"))
        before = resource.prlimit(daemon, resource.RLIMIT_NOFILE)
        resource.prlimit(daemon, resource.RLIMIT_NOFILE, (used + 4, before[1]))
        with contextlib.ExitStack() as crowd:
            for _ in range(60):
                door = crowd.enter_context(socket.socket(socket.AF_UNIX))
                door.connect(str(node.socket))
            wait_until(
                lambda: len(os.listdir(f"/proc/{daemon}/fd")) >= used + 4, "no descriptor is left"
            )
            time.sleep(0.5)  # for the refused client
        resource.prlimit(daemon, resource.RLIMIT_NOFILE, before)
        assert loans.node_hello(node.socket, 60.0).launcher == "process"
    finally:
        assert node.stop() == 0


def test_two_daemons_do_not_share_a_run_directory(bench: Bench) -> None:
    node, launcher = bench.node, bench.launcher
    command = [sys.executable, "-m", "sandbox.node", "--launcher", launcher]
    command += ["--socket", str(node.run_dir / "other.sock"), "--run-dir", str(node.run_dir)]
    second = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert second.returncode == 2
    assert "run-dir: another node runs" in second.stderr
    assert loans.node_hello(node.socket).launcher == launcher


def test_a_stranger_may_not_borrow(bench: Bench) -> None:
    node = bench.node
    if os.geteuid() != 0:
        pytest.skip("only root can become somebody else")
    node.run_dir.chmod(0o755)
    child = os.fork()
    if child == 0:
        try:
            os.setgid(65534)
            os.setuid(65534)
            loans.node_hello(node.socket)
            os._exit(1)
        except HostFault as fault:
            os._exit(0 if "may not borrow" in str(fault) else 2)
        finally:
            os._exit(3)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_hello_describes_the_node(bench: Bench) -> None:
    hello = loans.node_hello(bench.node.socket)
    assert hello.launcher == bench.launcher
    assert hello.profiles == ("numpy", "python")
    assert set(hello.image_digests) == {"numpy", "python"}
    assert set(hello.lacks) <= set(gpu.gpu_lacks()), "but for a GPU that nobody has described"


def test_malformed_messages_are_refused(bench: Bench) -> None:
    for data in (
        b"GET / HTTP/1.1\r\n\r\n",
        struct.pack(">I", 0xFFFFFFFF),
        struct.pack(">I", 2) + b"[]",
        struct.pack(">I", 4) + b"\xff\xff\xff\xff",
        wire.encode_frame({"op": "run", "image": "evil", "privileged": True}),
        wire.encode_frame({"op": "borrow", "profile": "python"}),
        b"",
    ):
        with socket.socket(socket.AF_UNIX) as door:
            door.settimeout(120)
            door.connect(str(bench.node.socket))
            door.sendall(data)
            try:
                door.shutdown(socket.SHUT_WR)
                answer = door.recv(1000)
            except ConnectionError:
                answer = b""  # it closed while it had unread bytes of ours
            assert answer == b"" or b'"fault"' in answer, data
    assert bench.findings(OWN_UID, step=0) >= 1_900_000_000


@pytest.mark.parametrize(
    ("profile", "memory_mb", "field"),
    [("perl", 192, "profile"), ("python", 1, "memory_mb"), ("python", 10**9, "memory_mb")],
)
def test_a_bad_request_names_its_field(
    bench: Bench, profile: str, memory_mb: int, field: str
) -> None:
    with pytest.raises(HostFault, match=field):
        bench.borrow(bench.bundle(OWN_UID), profile, memory_mb)


def test_an_unreadable_or_too_large_bundle_is_refused(bench: Bench) -> None:
    large = bench.folder / "large.py"
    with large.open("wb") as file:
        file.truncate((100 << 20) + 1)
    with pytest.raises(BundleRefused, match="larger than"):
        bench.borrow(large)
    with pytest.raises(HostFault, match="regular file"):
        bench.borrow(Path("/dev/zero"))
    with pytest.raises(HostFault, match="cannot be opened"):
        bench.borrow(bench.folder / "missing.py")


def test_a_bundle_can_be_lent_as_an_open_file(bench: Bench) -> None:
    with bench.bundle(OWN_UID).open("rb") as file:
        request = loans.SeatRequest("python", file, MEMORY_MB)
        with loans.borrow(bench.node.socket, request, 60) as loan:
            assert Player(loan).start() == {"k": "ready"}


@pytest.mark.bubblewrap
def test_idle_boxes_do_not_fill_the_memory_with_bundles(short_folder: Callable[[], Path]) -> None:
    """A small upload can unpack to many bytes, which stay in memory as long as the box."""
    require("bubblewrap")
    node = start_node(short_folder(), "bubblewrap", "--profile", "python", "--keep-mb", "10")
    bench = Bench(node, "bubblewrap", node.run_dir)
    try:
        boxes = []
        for size_mb, name in ((4, "a"), (4, "b"), (4, "a"), (7, "c"), (4, "b"), (4, "a")):
            path = node.run_dir / f"{name}.zip"
            if not path.exists():
                with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
                    archive.writestr("main.py", f"{OWN_UID}# {name}\n")
                    archive.writestr("weights", bytes(size_mb << 20))
            with bench.seat(path) as player:
                player.start()
                boxes.append(player.move(step=0) // 1000)
        assert boxes[2] == boxes[0]  # both fitted
        assert boxes[4] != boxes[1]  # removed for c, as the longest unused
        assert len({*boxes}) == 5
    finally:
        assert node.stop() == 0, node.log.read_text()


def test_a_missing_node_is_a_host_fault(tmp_path: Path) -> None:
    request = loans.SeatRequest("python", Path(__file__), 192)
    with pytest.raises(HostFault, match="no node answers"):
        loans.borrow(tmp_path / "node.sock", request, 1)


def test_auto_never_chooses_an_unprotected_launcher(
    short_folder: Callable[[], Path],
) -> None:
    require("bubblewrap")
    folder = short_folder()
    command = [sys.executable, "-m", "sandbox.node", "--socket", str(folder / "node.sock")]
    command += ["--run-dir", str(folder), "--profile", "python", "--warm", "0"]
    without = {**os.environ, "DOCKER_HOST": "unix:///nowhere/docker.sock"}
    with (folder / "node.log").open("w") as log:
        process = subprocess.Popen(command, cwd=ROOT, env=without, stderr=log)
    deadline = time.monotonic() + 120
    try:
        while True:
            with contextlib.suppress(HostFault):  # the socket exists before it listens
                assert loans.node_hello(folder / "node.sock").launcher == "bubblewrap"
                break
            assert time.monotonic() < deadline, (folder / "node.log").read_text()
            time.sleep(0.05)
    finally:
        process.terminate()
        assert process.wait(120) == 0
    nothing = {**without, "PATH": "/nowhere"}
    refused = subprocess.run(
        command, cwd=ROOT, env=nothing, capture_output=True, text=True, check=False
    )
    assert refused.returncode == 2
    assert "agents cannot be isolated here" in refused.stderr
    assert "apt-get install -y bubblewrap" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_the_process_launcher_reports_no_isolation(
    short_folder: Callable[[], Path],
) -> None:
    node = start_node(short_folder(), "process", "--profile", "python", "--warm", "1")
    path = node.run_dir / "agent.py"
    path.write_text("def agent(obs):\n    return obs.step + 1\n")
    for _ in range(2):
        request = loans.SeatRequest("python", path, MEMORY_MB)
        with loans.borrow(node.socket, request, 30) as loan:
            player = Player(loan)
            player.start()
            assert player.move(step=1) == 2
    assert "no isolation" in " ".join(loans.node_hello(node.socket).lacks)
    assert node.stop() == 0
    assert "isolates nothing" in node.log.read_text()
