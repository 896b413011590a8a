"""A private Docker engine that a test may stop, kill and restart."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import docker
import docker.errors
import pytest

from sandbox import profiles
from sandbox.launchers.docker import DockerLauncher

START_SECONDS = 180.0


@dataclass
class OwnEngine:
    """A ``dockerd`` with its own folder and its own ``containerd``."""

    folder: Path
    process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """The address for DOCKER_HOST."""
        return f"unix://{self.folder}/docker.sock"

    def start(self) -> None:
        """Start the engine; returns when it answers."""
        # Both check the process of an old pid file; without a reaper a dead process looks alive.
        for left in ("pid", "exec/containerd/containerd.pid"):
            (self.folder / left).unlink(missing_ok=True)
        # Own namespaces: an engine without a bridge removes the host's docker0, and a killed one
        # leaves its mounts.
        command = ["unshare", "--net", "--mount", "dockerd", "--host", self.address]
        command += ["--data-root", f"{self.folder}/data", "--exec-root", f"{self.folder}/exec"]
        command += ["--pidfile", f"{self.folder}/pid", "--bridge", "none"]
        command += ["--iptables=false", "--ip6tables=false"]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
            )
        deadline = time.monotonic() + START_SECONDS
        while not self._answers():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError((self.folder / "log").read_text()[-2000:])
            time.sleep(0.05)

    def end(self, number: signal.Signals) -> None:
        """End the engine: SIGTERM as a service manager, SIGKILL as a crash."""
        assert self.process is not None
        self.process.send_signal(number)
        self.process.wait(300)

    def load(self) -> None:
        """Load the box's image; the usual engine builds it if necessary."""
        with contextlib.closing(DockerLauncher(self.folder / "run")) as kind:
            made = kind.prepare(profiles.get_profile("python"), print)
        with contextlib.closing(docker.from_env(timeout=120)) as usual:
            tags = [tag for tag in usual.images.get(made).tags if tag.startswith("peck-box-python")]
        with subprocess.Popen(["docker", "save", *tags], stdout=subprocess.PIPE) as saved:
            subprocess.run(
                ["docker", "--host", self.address, "load", "--quiet"],
                stdin=saved.stdout,
                stdout=subprocess.DEVNULL,
                check=True,
            )

    def _answers(self) -> bool:
        # Probe by hand first: the library leaves a socket open if the connection fails.
        with socket.socket(socket.AF_UNIX) as probe:
            if probe.connect_ex(f"{self.folder}/docker.sock") != 0:
                return False
        with contextlib.closing(docker.DockerClient(self.address, timeout=60)) as client:
            return bool(client.ping())


def missing() -> str | None:
    """The reason why no such engine can run here, or None."""
    for program in ("dockerd", "containerd", "unshare", "docker"):
        if shutil.which(program) is None:
            return f"no engine of the test's own: {program} is not installed"
    if os.geteuid() != 0:
        return "no engine of the test's own: only root can start one"
    try:
        with contextlib.closing(docker.from_env(timeout=60)) as usual:
            usual.ping()
    except (docker.errors.DockerException, OSError) as error:
        return f"no engine of the test's own: no other that builds its image: {error}"
    return None


@contextlib.contextmanager
def running() -> Iterator[OwnEngine]:
    """A started engine with an image for boxes; skips the test if impossible."""
    reason = missing()
    if reason is not None:
        pytest.skip(reason)
    folder = Path(tempfile.mkdtemp(prefix="peck-engine-", dir="/var/tmp"))
    engine = OwnEngine(folder)
    try:
        engine.start()
        engine.load()
        yield engine
    finally:
        if engine.process is not None:
            engine.process.terminate()
            try:
                engine.process.wait(120)
            finally:
                engine.process.kill()
                engine.process.wait()
        shutil.rmtree(folder, ignore_errors=True)
