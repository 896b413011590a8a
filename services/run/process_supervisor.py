"""Starts, restarts and stops the service's child processes on one machine.

It also finds a port for the site, and a program that makes sandboxes.
"""

from __future__ import annotations

import contextlib
import fcntl
import http.client
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Final, TypeVar

from ladder.settings import Settings
from sandbox.errors import HostFault
from sandbox.match.loans import NodeHello, node_hello
from sandbox.settings import Settings as NodeSettings
from services.environment_variables import CHECKOUT
from services.run import embedded_servers, system_packages
from services.run.child_processes import (
    SERVICE_NICE,
    Child,
    Follower,
    log_tail,
    rotate_log,
    spawn,
)

T = TypeVar("T")
NODE_SECONDS: Final = 600.0
NODE_END_SECONDS: Final = 30.0
"""Longer than a node needs to stop."""
WATCH_SECONDS: Final = 0.25
LONGEST_PAUSE_SECONDS: Final = 30.0
STEADY_SECONDS: Final = 60.0
HOST: Final = "127.0.0.1"
DEFAULT_PORT: Final = 8000
BACKLOG: Final = 2048
"""Connections that may wait while the site starts."""
EGRESS_SETTINGS: Final = ("egress_allow", "egress_deny", "egress_ports")
SMTP_SETTINGS: Final = ("smtp_url", "smtp_from")
SETTINGS_OF_PROCESS: Final = {
    "api": (
        *("database_url", "redis_url", "blobs_url", "run_dir", "base_url", "session_secret"),
        *("games", "sign_up", "sign_up_domains", "identity_providers", "live_streams"),
        *("machine_database_url", "machine_redis_url", "machine_blobs_endpoint"),
        *("machine_certificates", *EGRESS_SETTINGS, *SMTP_SETTINGS),
    ),
    "scheduler": ("database_url", "redis_url", "blobs_url", "run_dir"),
    "worker": (
        *("worker_database_url", "redis_url", "blobs_url", "run_dir", "node_socket"),
        *("remote_socket", "max_parallel_seats", "queues", "speed_class", "games"),
    ),
    "rater": ("database_url", "redis_url", "blobs_url", "games"),
    "notifier": (
        *("notifier_database_url", "redis_url", "base_url"),
        *(*EGRESS_SETTINGS, *SMTP_SETTINGS),
    ),
    "pictures": ("database_url", "redis_url", "blobs_url", "games"),
}
"""The settings of each part alone: workers never see the more powerful database role."""


class StartError(Exception):
    """The instance cannot start. The message says what to do."""


@dataclass
class SupervisedProcess:
    """A child that is restarted when it dies."""

    name: str
    start: Callable[[], Child]
    grace_seconds: float = 10.0
    child: Child | None = None
    started_at: float = 0.0
    pause_seconds: float = 0.5
    again_at: float = 0.0

    def begin(self) -> Child:
        self.child = self.start()
        self.started_at = time.monotonic()
        return self.child


@dataclass(frozen=True)
class UpOptions:
    """Options of ``peck up``; some of them are options of ``peck machine join`` too."""

    state: Path | None = None
    port: int | None = None
    """None: 8000, or a free port if 8000 is taken. 0: any free port."""
    install: bool = True
    demo: bool = True
    launcher: str = "auto"
    slots: int | None = None
    """Matches at a time. None: cores minus one, at least two."""
    reload: bool = False
    """Keep the site's libraries imported, so that it restarts quickly."""


@dataclass
class ProcessSupervisor:
    """Base class of ``peck up`` and ``peck machine join``. Keeps the parts running.

    A part is a child process. Each subclass decides in ``start`` which parts it starts. Their data
    is in one folder. They end with this process.
    """

    options: UpOptions
    say: Callable[[str], None]
    state: Path = field(init=False)
    settings: Settings = field(init=False)
    parts: list[SupervisedProcess] = field(default_factory=list)
    _lock: IO[str] | None = None
    _node_says: Follower = field(init=False)

    def watch(self, look: Callable[[], None] = lambda: None) -> None:
        """Every ``WATCH_SECONDS`` calls ``look`` and restarts dead parts. Ends only by
        KeyboardInterrupt.
        """
        while True:
            time.sleep(WATCH_SECONDS)
            look()
            now = time.monotonic()
            for part in self.parts:
                self._restart_if_dead(part, now)

    def stop(self) -> None:
        """Stops all parts, dependent parts first. A second Ctrl-C kills them at once."""
        try:
            used = ("node", "remote", "redis", "postgres")
            users = [part for part in self.parts if part.name not in used]
            for part in users:
                if part.child is not None:
                    part.child.ask_to_stop()
            for part in (*users, *(p for p in reversed(self.parts) if p not in users)):
                if part.child is not None:
                    part.child.stop(part.grace_seconds)
        except KeyboardInterrupt:
            for part in self.parts:
                if part.child is not None and part.child.alive():
                    part.child.process.kill()
        finally:
            self._release()

    def _restart_if_dead(self, part: SupervisedProcess, now: float) -> None:
        if part.child is None or part.child.alive():
            if now - part.started_at > STEADY_SECONDS:
                part.pause_seconds = 0.5
            return
        if part.again_at == 0.0:
            status = part.child.process.returncode
            self.say(
                f"{part.name} ended with status {status}; restarting it "
                f"(log: {self.log_file(part.name)})"
            )
            part.again_at = now + part.pause_seconds
            part.pause_seconds = min(part.pause_seconds * 2, LONGEST_PAUSE_SECONDS)
        elif now >= part.again_at:
            part.again_at = 0.0
            try:
                part.begin()
            except embedded_servers.EmbeddedError as error:
                self.say(str(error))

    def _release(self) -> None:
        """Frees what the parts used; the lock of the state folder last."""
        if self._lock is not None:
            self._lock.close()

    def take_lock(self) -> None:
        """Locks the state folder for this process. Raises StartError if another one has it."""
        lock = (self.state / "lock").open("a+")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with lock, contextlib.suppress(ValueError):
                lock.seek(0)
                other = json.loads(lock.read())
                raise StartError(
                    f"stop the instance that already runs on {self.state} "
                    f"({other['address']}, process {other['pid']}), or choose another "
                    "folder with --state"
                ) from None
            raise StartError(
                f"wait for the other peck up that is starting on {self.state}"
            ) from None
        lock.truncate(0)
        self._lock = lock

    def begin_node(self) -> None:
        """Starts the node daemon; ``await_node`` waits until it is ready."""
        self.say("preparing sandboxes for agents (the first time takes a while)")
        self.run_dir.mkdir(mode=0o711, exist_ok=True)
        self._node_says = Follower(rotate_log(self.log_file("node")))
        node_settings = NodeSettings.read()
        self.start_python_module(
            "node",
            [
                *("sandbox.node", "--socket", str(self.node_socket)),
                *("--run-dir", str(self.run_dir / "node")),
                *("--launcher", self.options.launcher),
                *("--runtime", node_settings.node_runtime),
                # We hold the state folder's lock, so another node there is stopping.
                *("--patience", str(NODE_END_SECONDS)),
            ],
            only=(),
            more={
                f"PECK_{name.upper()}": text for name, text in asdict(node_settings).items() if text
            },
            death_signal=signal.SIGTERM,  # it then removes its sandboxes
            grace_seconds=NODE_END_SECONDS,
        )

    def await_node(self) -> NodeHello:
        """Waits until the node is ready and returns its hello; prints its progress. Raises
        StartError.
        """

        def answer(pid: int) -> NodeHello | None:
            for line in self._node_says.new_lines():
                if "ready:" not in line and "lacks:" not in line:
                    self.say(line.removeprefix("node: "))
            with contextlib.suppress(HostFault):
                return node_hello(self.node_socket, started=pid)
            return None

        hello = self.await_part("node", answer, NODE_SECONDS, "no sandboxes", 3)
        self.say(f"sandboxes run with {hello.launcher}; profiles: {', '.join(hello.profiles)}")
        for lack in hello.lacks:
            self.say(f"note: {lack}")
        return hello

    def await_part(
        self, name: str, answer: Callable[[int], T | None], seconds: float, trouble: str, lines: int
    ) -> T:
        """Waits at most ``seconds`` for ``answer(pid)`` to return a value, and returns it.

        Raises StartError, which begins with ``trouble``. If the part died, it has the last
        ``lines`` lines of the part's log; if the part is late, it names the log.
        """
        part = next(part for part in self.parts if part.name == name)
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if part.child is not None and (value := answer(part.child.process.pid)) is not None:
                return value
            if part.child is None or not part.child.alive():
                raise StartError(f"{trouble}: {log_tail(self.log_file(name), lines)}")
            time.sleep(0.05)
        raise StartError(f"{trouble} within {seconds:g} s; read {self.log_file(name)}")

    def start_python_module(
        self,
        name: str,
        module: Sequence[str],
        *,
        only: Sequence[str] | None = None,
        more: Mapping[str, str] | None = None,
        death_signal: signal.Signals = signal.SIGKILL,
        grace_seconds: float = 10.0,
        inherit: Sequence[int] = (),
    ) -> Child:
        """Starts a Python module as a part, with its settings in the environment."""
        environment = {
            key: value for key, value in os.environ.items() if not key.startswith("PECK_")
        }
        environment["PYTHONPATH"] = str(CHECKOUT)
        needed = only if only is not None else SETTINGS_OF_PROCESS[name]
        for key in needed:
            environment[f"PECK_{key.upper()}"] = str(getattr(self.settings, key))
        environment.update(more or {})

        def start() -> Child:
            return spawn(
                name,
                [sys.executable, "-P", "-m", *module],
                log=rotate_log(self.log_file(name)),
                nice=0 if name == "node" else SERVICE_NICE,  # sandboxes inherit the node's
                environment=environment,
                death_signal=death_signal,
                cwd=CHECKOUT,
                inherit=inherit,
            )

        part = SupervisedProcess(name, start, grace_seconds)
        self.parts.append(part)
        return part.begin()

    def slots(self) -> int:
        """Number of matches that the worker plays at a time."""
        if self.options.slots is None and "worker_slots" in self.settings.model_fields_set:
            return self.settings.worker_slots
        return self.options.slots or max(2, len(os.sched_getaffinity(0)) - 1)

    @property
    def run_dir(self) -> Path:
        """Folder of sockets and locks."""
        return self.state / "run"

    @property
    def node_socket(self) -> Path:
        """Socket of the node daemon."""
        return self.run_dir / "node.sock"

    def log_file(self, name: str) -> Path:
        """Log of a part."""
        return self.state / "log" / f"{name}.log"


def ensure_launcher(launcher: str, install: bool, say: Callable[[str], None]) -> None:
    """Checks that sandboxes work. Installs bubblewrap if it and an engine are missing.

    Raises StartError with the command to type.
    """
    if launcher in ("docker", "process"):
        return
    if launcher == "auto" and engine_answers():
        return
    try:
        system_packages.install_package("bubblewrap", allowed=install, say=say)
    except system_packages.PackageError as error:
        raise StartError(f"{error} (agents need a sandbox)") from None


def engine_answers() -> bool:
    """Whether a Docker engine listens at the address in the environment, or at the usual one."""
    address = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")
    if not address.startswith("unix://"):
        return True  # the node daemon checks it
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as client:
        client.settimeout(2.0)
        client.connect(address.removeprefix("unix://"))
        return True
    return False


def listen_on_port(port: int | None, say: Callable[[str], None]) -> socket.socket:
    """A socket that listens on the requested port. Default: 8000, or a free port if 8000 is taken.
    The socket stays open, so that no other program can take the port. Raises StartError."""
    try:
        return _try_listen(DEFAULT_PORT if port is None else port)
    except OSError as error:
        if port is not None:
            raise StartError(f"--port {port}: choose another port ({error.strerror})") from None
    say(f"port {DEFAULT_PORT} is taken; using another")
    return _try_listen(0)


def _try_listen(port: int) -> socket.socket:
    listener = socket.create_server((HOST, port), backlog=BACKLOG)
    # Connections inherit it. asyncio does not set it, because uvicorn opens the socket as a Unix
    # socket.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def site_answers(port: int) -> bool:
    """Whether the site on this port answers any request within a second."""
    connection = http.client.HTTPConnection(HOST, port, timeout=1.0)
    with contextlib.closing(connection), contextlib.suppress(OSError, http.client.HTTPException):
        connection.request("GET", "/health/live")
        connection.getresponse()
        return True
    return False
