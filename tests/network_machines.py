"""Machines on this host: each has a network of its own and sees no file of the site.

A machine reaches one address, and of it the given ports alone. Needs root and ``nsenter``, ``ip``
and ``iptables``.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

CHECKOUT: Final = Path(__file__).resolve().parents[1]
END_SECONDS: Final = 40.0


@dataclass
class NetworkMachine:
    """One machine, which plays for a site with ``peck machine join``."""

    name: str
    number: int
    network: str
    """Name of the bridge."""
    folder: Path
    hidden: Sequence[Path]
    """Folders that this machine must not see."""
    process: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> Path:
        return self.folder / "log"

    @property
    def _space(self) -> str:
        return f"{self.network}{self.number}"

    def plug(self, host: str, ports: Sequence[int]) -> None:
        """Makes its network, with a way to these ports of the host alone."""
        space, cable = self._space, f"v{self._space}"
        _run("ip", "netns", "add", space)
        _run("ip", "link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", space)
        _run("ip", "link", "set", cable, "master", self.network, "up")
        own = f"{host.rpartition('.')[0]}.{self.number + 1}/24"
        self.inside("ip", "addr", "add", own, "dev", "eth0")
        self.inside("ip", "link", "set", "eth0", "up")
        self.inside("ip", "link", "set", "lo", "up")
        allowed = ",".join(map(str, ports))
        for rule in (
            "-P OUTPUT DROP",
            "-A OUTPUT -o lo -j ACCEPT",
            f"-A OUTPUT -d {host} -p tcp -m multiport --dports {allowed} -j ACCEPT",
        ):
            self.inside("iptables", *rule.split())

    def cut(self) -> None:
        """Cuts its network: packets vanish, and nobody is told."""
        _run("ip", "link", "set", f"v{self._space}", "nomaster")

    def heal(self) -> None:
        _run("ip", "link", "set", f"v{self._space}", "master", self.network)

    def join(self, *arguments: str) -> None:
        """Runs ``peck machine join`` with these arguments, in the background."""
        peck = [sys.executable, "-P", "-m", "services.cli", "machine", "join", *arguments]
        peck += ["--state", str(self.folder / "state"), "--launcher", "bubblewrap", "--no-install"]
        hide = "; ".join(f"mount -t tmpfs hidden {shlex.quote(str(one))}" for one in self.hidden)
        kept = {name: text for name, text in os.environ.items() if not name.startswith("PECK_")}
        with self.log.open("ab") as output:
            self.process = subprocess.Popen(
                [
                    *("nsenter", f"--net=/run/netns/{self._space}", "unshare", "--mount", "sh"),
                    *("-ec", f'{hide}; exec "$@"', "sh", *peck),
                ],
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**kept, "PYTHONPATH": str(CHECKOUT)},
                cwd=CHECKOUT,
                start_new_session=True,
            )

    def kill(self) -> None:
        """Kills every process of the machine at once, as a loss of power does."""
        until = time.monotonic() + END_SECONDS
        while (pids := self.processes()) and time.monotonic() < until:
            for pid in pids:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.05)
        if self.process is not None:
            self.process.wait()

    def stop(self) -> float:
        """Stops it by SIGTERM. Returns how long that took, in seconds."""
        began = time.monotonic()
        if self.process is not None:
            with suppress(ProcessLookupError):
                self.process.terminate()
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(END_SECONDS)
        return time.monotonic() - began

    def processes(self) -> list[int]:
        """Ids of its processes. Those in boxes have networks of their own and end with them."""
        found = subprocess.run(
            ["ip", "netns", "pids", self._space], capture_output=True, text=True, check=False
        )
        return [int(pid) for pid in found.stdout.split()]

    def inside(self, *command: str) -> None:
        """Runs a command in its network."""
        _run("nsenter", f"--net=/run/netns/{self._space}", *command)

    def remove(self) -> None:
        self.stop()
        self.kill()
        _run("ip", "netns", "del", self._space)


@contextmanager
def network(name: str, host: str) -> Iterator[str]:
    """A bridge of this name, at which this host has the address ``host``."""
    _run("ip", "link", "add", name, "type", "bridge")
    try:
        _run("ip", "addr", "add", f"{host}/24", "dev", name)
        _run("ip", "link", "set", name, "up")
        yield name
    finally:
        _run("ip", "link", "del", name)


@contextmanager
def machine(made: NetworkMachine, host: str, ports: Sequence[int]) -> Iterator[NetworkMachine]:
    """A machine with its network; everything of it ends with the block."""
    made.folder.chmod(0o711)
    try:
        made.plug(host, ports)
        yield made
    finally:
        made.remove()


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{shlex.join(command)}: {done.stderr.strip()}")
