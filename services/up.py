"""The whole house on one machine: every part a child of this process, state in one folder.

Children never outlive it, a child that dies is started again, and what is under way is in Postgres:
stopping, also by SIGKILL, loses nothing.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final

from games import outside
from ladder.settings import Settings
from ladder.store import db
from sandbox import runtimes
from sandbox.errors import HostFault
from sandbox.loans import NodeHello, hello
from services import embedded, setup
from services.children import Child, spawn, tail
from services.premises import HOST, UpError, free_port, see_to_launcher, turned

CHECKOUT: Final = Path(__file__).resolve().parent.parent
NODE_SECONDS: Final = 600.0
API_SECONDS: Final = 60.0
REMOTE_SECONDS: Final = 30.0
EGRESS: Final = "PECK_EGRESS_"
"""How the variables begin that the remote daemon reads, and nobody else."""
WATCH_SECONDS: Final = 0.25
LONGEST_PAUSE_SECONDS: Final = 30.0
STEADY_SECONDS: Final = 60.0


@dataclass(frozen=True)
class Options:
    """What ``peck up`` was asked for."""

    state: Path | None = None
    port: int | None = None
    """None: 8000, or a free one when that is taken. 0: any free one."""
    install: bool = True
    demo: bool = True
    launcher: str = "auto"
    slots: int | None = None
    """Matches at a time; None: cores less one, at least two."""


@dataclass
class Part:
    """A child that is started again when it dies."""

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


@dataclass
class House:
    """Everything that runs. Use as ``with House(...) as house: house.watch()``."""

    options: Options
    say: Callable[[str], None]
    state: Path = field(init=False)
    settings: Settings = field(init=False)
    address: str = ""
    token: str = ""
    parts: list[Part] = field(default_factory=list)
    _lock: IO[str] | None = None

    def start(self) -> None:
        """Start all parts, in the order in which they need each other. Raises UpError."""
        try:
            outside.register(os.environ.get(outside.VARIABLE, ""))
        except outside.OutsideError as error:
            raise UpError(f"{outside.VARIABLE}: {error}") from None
        see_to_launcher(self.options.launcher, self.options.install, self.say)
        try:
            self.state = embedded.state_folder(CHECKOUT, self.options.state)
            self._take_lock()
            self._start_servers()
        except embedded.EmbeddedError as error:
            raise UpError(str(error)) from None
        db.migrate(self.settings.database_url)
        if self._embedded:
            with db.connect(self.settings.database_url) as conn:
                db.set_worker_login(conn, None)  # only our own uid gets to the server's socket
        self.token = setup.seed(self.settings, self.state / "token", with_league=self.options.demo)
        if os.geteuid() == 0:
            self.say(
                "you are root, so the workers are too; for strangers' agents start this as an "
                "ordinary user or with `docker compose up`, where they are not"
            )
        node = self._start_node()
        self._start_remote()
        gpu = node.gpus and "play.gpu" not in self.settings.queues
        queues = self.settings.queues + (",play.gpu" if gpu else "")
        self._start_api()
        for name, command in (
            ("scheduler", ["services.scheduler"]),
            ("worker", ["workers.main", "--queues", queues, "--slots", str(self._slots())]),
            ("rater", ["workers.main", "--queues", "rate", "--slots", "1"]),
        ):
            self._python(name, command, grace_seconds=5.0)  # then the match runs again
        for folder in self._address_folders():
            with contextlib.suppress(OSError):
                folder.mkdir(mode=0o700, exist_ok=True)
                (folder / "address").write_text(self.address + "\n")
                if folder != self.state:
                    setup.write_private(folder / "token", self.token + "\n")
        self._remember()

    def watch(self) -> None:
        """Start parts again that died; returns only by KeyboardInterrupt."""
        while True:
            time.sleep(WATCH_SECONDS)
            now = time.monotonic()
            for part in self.parts:
                self._look_after(part, now)

    def stop(self) -> None:
        """Stop all parts, those that use others first; a second Ctrl-C ends them at once."""
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
            for folder in self._address_folders():
                with contextlib.suppress(OSError):
                    # Where the lock is another house's, so may be the address.
                    ours = folder == self.state and self._lock is not None
                    if ours or (folder / "address").read_text().strip() == self.address:
                        (folder / "address").unlink()
            if self._lock is not None:
                self._lock.close()

    def _look_after(self, part: Part, now: float) -> None:
        if part.child is None or part.child.alive():
            if now - part.started_at > STEADY_SECONDS:
                part.pause_seconds = 0.5
            return
        if part.again_at == 0.0:
            status = part.child.process.returncode
            self.say(
                f"{part.name} ended with status {status}; starting it again "
                f"(log: {self._log(part.name)})"
            )
            part.again_at = now + part.pause_seconds
            part.pause_seconds = min(part.pause_seconds * 2, LONGEST_PAUSE_SECONDS)
        elif now >= part.again_at:
            part.again_at = 0.0
            try:
                part.begin()
            except embedded.EmbeddedError as error:
                self.say(str(error))

    # Parts

    @property
    def _embedded(self) -> bool:
        return not os.environ.get("PECK_DATABASE_URL")

    def _start_servers(self) -> None:
        database_url = os.environ.get("PECK_DATABASE_URL", "")
        redis_url = os.environ.get("PECK_REDIS_URL", "")
        worker_url = os.environ.get("PECK_WORKER_DATABASE_URL", database_url)
        games = outside.absolute(os.environ.get(outside.VARIABLE, ""))
        if not database_url:
            self.say("starting Postgres")
            server = self._server("postgres", lambda: embedded.start_postgres(self.state))
            database_url = server.url
            worker_url = server.url.replace("//peck@", "//peck_worker@", 1)
        if not redis_url:
            self.say("starting Redis")
            redis_url = self._server("redis", lambda: embedded.start_redis(self.state)).url
        run_dir = self.state / "run"
        run_dir.mkdir(mode=0o711, exist_ok=True)
        blobs = self.state / "blobs"
        blobs.mkdir(mode=0o700, exist_ok=True)
        self.settings = Settings(
            database_url=database_url,
            worker_database_url=worker_url,
            redis_url=redis_url,
            blobs_url=os.environ.get("PECK_BLOBS_URL") or blobs.as_uri(),
            run_dir=run_dir,
            node_socket=run_dir / "node.sock",
            remote_socket=run_dir / "remote.sock",
            host=HOST,
            port=free_port(self.options.port, self.say),
            session_secret=self._kept_secret("session-secret"),
            games=games,
        )
        self.address = f"http://{HOST}:{self.settings.port}"

    def _server(self, name: str, start: Callable[[], embedded.Server]) -> embedded.Server:
        first = start()
        part = Part(name, lambda: start().child, child=first.child)
        part.started_at = time.monotonic()
        self.parts.append(part)
        return first

    def _start_node(self) -> NodeHello:
        self.say("preparing boxes for the agents (the first time this takes a while)")
        node = self._python(
            "node",
            [
                *("sandbox.node", "--socket", str(self.settings.node_socket)),
                *("--run-dir", str(self.settings.run_dir / "node")),
                *("--launcher", self.options.launcher),
                *("--runtime", runtimes.from_environment()),
            ],
            only=(),
            death_signal=signal.SIGTERM,  # it removes its boxes on the way out
            grace_seconds=30.0,
        )
        with _attempts(NODE_SECONDS) as going:
            for _ in going:
                with contextlib.suppress(HostFault):
                    answer = hello(self.settings.node_socket)
                    break
                if not node.alive():
                    raise UpError(f"no boxes: {tail(self._log('node'), 3)}")
            else:
                raise UpError(f"the node did not come up; see {self._log('node')}")
        self.say(f"boxes are made by {answer.launcher}")
        for lack in answer.lacks:
            self.say(f"note: {lack}")
        return answer

    def _start_remote(self) -> None:
        """The daemon that calls remote agents; no season has any unless it was made for them."""
        remote_socket = self.settings.remote_socket
        assert remote_socket is not None
        remote = self._python(
            "remote",
            ["sandbox.remote", "--socket", str(remote_socket), "--parent", str(os.getpid())],
            only=(),
            more={name: text for name, text in os.environ.items() if name.startswith(EGRESS)},
        )
        with _attempts(REMOTE_SECONDS) as going:
            for _ in going:
                with contextlib.suppress(HostFault):
                    hello(remote_socket)
                    return
                if not remote.alive():
                    raise UpError(f"no remote agents: {tail(self._log('remote'), 1)}")
        raise UpError(f"the remote daemon did not come up; see {self._log('remote')}")

    def _start_api(self) -> None:
        self.say("starting the site")
        api = self._python(
            "api",
            [
                *("uvicorn", "services.api.app:create_app", "--factory"),
                *("--host", HOST, "--port", str(self.settings.port)),
                *("--log-level", "warning", "--no-access-log", "--no-server-header"),
                *("--timeout-graceful-shutdown", "2"),
            ],
        )
        with _attempts(API_SECONDS) as going:
            for _ in going:
                with contextlib.suppress(OSError):
                    socket.create_connection((HOST, self.settings.port), 1.0).close()
                    return
                if not api.alive():
                    raise UpError(f"the site did not start:\n{tail(self._log('api'))}")
        raise UpError(f"the site did not start; see {self._log('api')}")

    def _python(
        self,
        name: str,
        module: Sequence[str],
        *,
        only: Sequence[str] | None = None,
        more: Mapping[str, str] | None = None,
        death_signal: signal.Signals = signal.SIGKILL,
        grace_seconds: float = 10.0,
    ) -> Child:
        """Start a Python module as a part, with the settings it needs in its environment."""
        environment = {
            key: value for key, value in os.environ.items() if not key.startswith("PECK_")
        }
        environment["PYTHONPATH"] = str(CHECKOUT)
        needed = only if only is not None else NEEDS[name]
        for key in needed:
            environment[f"PECK_{key.upper()}"] = str(getattr(self.settings, key))
        environment.update(more or {})

        def start() -> Child:
            return spawn(
                name,
                [sys.executable, "-P", "-m", *module],
                log=turned(self._log(name)),
                environment=environment,
                death_signal=death_signal,
                cwd=CHECKOUT,
            )

        part = Part(name, start, grace_seconds)
        self.parts.append(part)
        return part.begin()

    # Small matters

    def _slots(self) -> int:
        return self.options.slots or max(2, len(os.sched_getaffinity(0)) - 1)

    def _log(self, name: str) -> Path:
        return self.state / "log" / f"{name}.log"

    def _address_folders(self) -> list[Path]:
        """Where the command line looks for a running house: the state folder and the usual one."""
        if not hasattr(self, "state"):
            return []
        usual = Path(os.environ.get("PECK_STATE") or CHECKOUT / ".state")
        return [self.state] if usual.absolute() == self.state else [self.state, usual]

    def _kept_secret(self, name: str) -> str:
        path = self.state / name
        if not path.exists():
            setup.write_private(path, secrets.token_urlsafe(32))
        return path.read_text().strip()

    def _take_lock(self) -> None:
        lock = (self.state / "lock").open("a+")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with lock, contextlib.suppress(ValueError):
                lock.seek(0)
                other = json.loads(lock.read())
                raise UpError(
                    f"already running on {self.state}: {other['address']}, process {other['pid']};"
                    " stop it first, or choose another folder with --state"
                ) from None
            raise UpError(f"another peck up is just starting on {self.state}") from None
        lock.truncate(0)
        self._lock = lock

    def _remember(self) -> None:
        assert self._lock is not None
        self._lock.write(json.dumps({"address": self.address, "pid": os.getpid()}))
        self._lock.flush()


NEEDS: Final = {
    "api": (
        "database_url",
        "redis_url",
        "blobs_url",
        "run_dir",
        "base_url",
        "session_secret",
        "games",
    ),
    "scheduler": ("database_url", "redis_url", "run_dir"),
    "worker": (
        "worker_database_url",
        "redis_url",
        "blobs_url",
        "run_dir",
        "node_socket",
        "remote_socket",
        "lanes",
        "queues",
        "speed_class",
        "games",
    ),
    "rater": ("database_url", "redis_url"),
}
"""Settings each part gets, and no others: the workers' side never sees the larger role."""


@contextlib.contextmanager
def _attempts(seconds: float) -> Iterator[Iterator[int]]:
    """Numbers at short intervals until the time is over."""

    def numbers() -> Iterator[int]:
        deadline, number = time.monotonic() + seconds, 0
        while time.monotonic() < deadline:
            yield number
            number += 1
            time.sleep(0.05)

    yield numbers()
