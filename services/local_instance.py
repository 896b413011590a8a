"""Runs a whole instance on one machine: each part is a child process, all data in one folder.

Children end with this process, and a child that dies is restarted. Work in progress is in Postgres,
so stopping loses nothing, even by SIGKILL.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final, TypeVar

from games import external
from ladder.database import db, migrate
from ladder.errors import Invalid, LadderError
from ladder.settings import Settings, SetupSettings
from sandbox.errors import HostFault
from sandbox.match.loans import NodeHello, node_hello
from sandbox.settings import Settings as NodeSettings
from services import demo, embedded_servers, setup
from services.child_processes import SERVICE_NICE, Child, Follower, log_tail, spawn
from services.environment_variables import Environment
from services.host_checks import (
    HOST,
    StartError,
    ensure_launcher,
    listen_on_port,
    rotate_log,
    site_answers,
)
from services.private_files import read_or_create_secret, write_private
from services.supervised_process import (
    EGRESS_SETTINGS,
    SETTINGS_OF_PROCESS,
    SMTP_SETTINGS,
    SupervisedProcess,
)

T = TypeVar("T")
CHECKOUT: Final = Path(__file__).resolve().parent.parent
NODE_SECONDS: Final = 600.0
NODE_END_SECONDS: Final = 30.0
"""Longer than a node needs to stop."""
API_SECONDS: Final = 120.0
REMOTE_SECONDS: Final = 120.0
PASSED_ON: Final = (
    *("password_memory_mib", "password_passes", "password_hashes"),
    *("live_streams", "live_streams_per_address"),
    "notice_slots",
    *("machine_database_url", "machine_redis_url", "machine_blobs_endpoint"),
    "machine_certificates",
    *EGRESS_SETTINGS,
    *SMTP_SETTINGS,
)
"""Settings that the parts get as the operator gave them."""
EGRESS: Final = "PECK_EGRESS_"
"""Prefix of the variables that the remote daemon reads itself."""
WATCH_SECONDS: Final = 0.25
LONGEST_PAUSE_SECONDS: Final = 30.0
STEADY_SECONDS: Final = 60.0


@dataclass(frozen=True)
class UpOptions:
    """Options of ``peck up``."""

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
class LocalInstance:
    """All parts of an instance. Call ``start``, then ``watch``, and ``stop`` at the end."""

    options: UpOptions
    say: Callable[[str], None]
    state: Path = field(init=False)
    settings: Settings = field(init=False)
    address: str = ""
    token: str = ""
    parts: list[SupervisedProcess] = field(default_factory=list)
    _lock: IO[str] | None = None
    _listener: socket.socket | None = None
    _node_says: Follower = field(init=False)

    def start(self) -> None:
        """Starts all parts, in the order of their dependencies. Raises StartError."""
        try:
            demo.select_demo_leagues(SetupSettings().demo_leagues)
            external.register_games(Environment.read().games)
        except Invalid as error:
            raise StartError(str(error)) from None
        except external.ExternalGameError as error:
            raise StartError(f"{external.VARIABLE}: {error}") from None
        try:
            self.state = embedded_servers.state_folder(CHECKOUT, self.options.state)
            if self._embedded:
                embedded_servers.write_format_mark(self.state)
            self._take_lock()
            self._listener = listen_on_port(self.options.port, self.say)
            ensure_launcher(self.options.launcher, self.options.install, self.say)
            self._begin_node()  # first, because it takes longest and needs no other part
            self._start_servers(self._listener)
        except embedded_servers.EmbeddedError as error:
            raise StartError(str(error)) from None
        self._prepare_database()
        if os.geteuid() == 0:
            self.say(
                "you are root, so the workers run as root too; for agents of strangers "
                "start this as an ordinary user or with `docker compose up`"
            )
        self.say("starting the site, the scheduler, the rater and the notifier")
        self._begin_api()
        self._begin_remote()
        self._start_python_module("scheduler", ["services.scheduler"], grace_seconds=5.0)
        rater = ["workers.main", "--queues", "rate", "--slots", "1"]
        self._start_python_module("rater", rater, grace_seconds=5.0)
        self._start_python_module("notifier", ["workers.notifier"], grace_seconds=5.0)
        drawing = ["workers.main", "--queues", "draw", "--slots", "1"]
        self._start_python_module("pictures", drawing, grace_seconds=5.0)
        self._await_api()
        self._await_remote()
        node = self._await_node()
        gpu = node.gpus and "play.gpu" not in self.settings.queues
        queues = self.settings.queues + (",play.gpu" if gpu else "")
        worker = ["workers.main", "--queues", queues, "--slots", str(self._slots())]
        self._start_python_module(
            "worker", worker, grace_seconds=5.0
        )  # then the match is queued again
        for folder in self._address_folders():
            with contextlib.suppress(OSError):
                folder.mkdir(mode=0o700, exist_ok=True)
                (folder / "address").write_text(self.address + "\n")
                if folder != self.state:
                    write_private(folder / "token", self.token + "\n")
        self._write_address()

    def watch(self, look: Callable[[], None] = lambda: None) -> None:
        """Restarts parts that died, and calls ``look``. Ends only by KeyboardInterrupt."""
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
            for folder in self._address_folders():
                with contextlib.suppress(OSError):
                    # If another instance holds the lock, the address may be that instance's.
                    ours = folder == self.state and self._lock is not None
                    if ours or (folder / "address").read_text().strip() == self.address:
                        (folder / "address").unlink()
            if self._listener is not None:
                self._listener.close()
            if self._lock is not None:
                self._lock.close()

    def _restart_if_dead(self, part: SupervisedProcess, now: float) -> None:
        if part.child is None or part.child.alive():
            if now - part.started_at > STEADY_SECONDS:
                part.pause_seconds = 0.5
            return
        if part.again_at == 0.0:
            status = part.child.process.returncode
            self.say(
                f"{part.name} ended with status {status}; restarting it "
                f"(log: {self._log(part.name)})"
            )
            part.again_at = now + part.pause_seconds
            part.pause_seconds = min(part.pause_seconds * 2, LONGEST_PAUSE_SECONDS)
        elif now >= part.again_at:
            part.again_at = 0.0
            try:
                part.begin()
            except embedded_servers.EmbeddedError as error:
                self.say(str(error))

    # Parts

    @property
    def _embedded(self) -> bool:
        return not Settings().database_url

    def _prepare_database(self) -> None:
        """Updates the database and creates the demo leagues if wanted.

        Applies all migrations to an embedded database: no process of the previous version uses it.
        """
        self.say("preparing the database")
        try:
            migrate.migrate(self.settings.database_url, after=self._embedded)
        except LadderError as error:
            raise StartError(str(error)) from None
        if self._embedded:
            with db.connect(self.settings.database_url) as conn:
                for role in (db.WORKER_ROLE, db.NOTIFIER_ROLE):
                    db.set_login(conn, role, embedded_servers.role_password(self.state, role))
        if self.options.demo:
            self.say("entering the reference agents in the demo leagues")
        wanted = self.options.demo
        self.token = setup.seed_demo(self.settings, self.state / "token", with_league=wanted)

    def _start_servers(self, listener: socket.socket) -> None:
        given = Settings()
        database_url, redis_url = given.database_url, given.redis_url
        worker_url = given.worker_database_url or database_url
        notifier_url = given.notifier_database_url or database_url
        if not database_url:
            self.say(
                "starting Postgres" + ("" if self._has_data() else " (creating its files once)")
            )
            server = self._start_supervised_server(
                "postgres", lambda: embedded_servers.start_postgres(self.state)
            )
            database_url = server.url
            worker_url = embedded_servers.postgres_url(self.state, "peck", db.WORKER_ROLE)
            notifier_url = embedded_servers.postgres_url(self.state, "peck", db.NOTIFIER_ROLE)
        if not redis_url:
            self.say("starting Redis")
            redis_url = self._start_supervised_server(
                "redis", lambda: embedded_servers.start_redis(self.state)
            ).url
        blobs = self.state / "blobs"
        blobs.mkdir(mode=0o700, exist_ok=True)
        self.settings = Settings(
            database_url=database_url,
            worker_database_url=worker_url,
            notifier_database_url=notifier_url,
            redis_url=redis_url,
            blobs_url=given.blobs_url or blobs.as_uri(),
            run_dir=self._run_dir,
            node_socket=self._node_socket,
            remote_socket=self._run_dir / "remote.sock",
            port=listener.getsockname()[1],
            base_url=given.base_url
            if "base_url" in given.model_fields_set
            else f"http://{HOST}:{listener.getsockname()[1]}",
            session_secret=read_or_create_secret(self.state / "session-secret"),
            games=external.absolute_paths(given.games),
            sign_up=given.sign_up if "sign_up" in given.model_fields_set else "local",
            **{name: getattr(given, name) for name in PASSED_ON},
        )
        self.address = f"http://{HOST}:{self.settings.port}"

    def _start_supervised_server(
        self, name: str, start: Callable[[], embedded_servers.EmbeddedServer]
    ) -> embedded_servers.EmbeddedServer:
        first = start()
        part = SupervisedProcess(name, lambda: start().child, child=first.child)
        part.started_at = time.monotonic()
        self.parts.append(part)
        return first

    def _begin_node(self) -> None:
        self.say("preparing sandboxes for agents (the first time takes a while)")
        self._run_dir.mkdir(mode=0o711, exist_ok=True)
        self._node_says = Follower(rotate_log(self._log("node")))
        self._start_python_module(
            "node",
            [
                *("sandbox.node", "--socket", str(self._node_socket)),
                *("--run-dir", str(self._run_dir / "node")),
                *("--launcher", self.options.launcher),
                *("--runtime", NodeSettings.read().node_runtime),
                *("--gpu-shares", NodeSettings.read().gpu_shares or "1"),
                # We hold the state folder's lock, so another node there is stopping.
                *("--patience", str(NODE_END_SECONDS)),
            ],
            only=(),
            death_signal=signal.SIGTERM,  # it then removes its sandboxes
            grace_seconds=NODE_END_SECONDS,
        )

    def _await_node(self) -> NodeHello:
        """The node's hello. Until then, prints the node's lines of progress."""

        def answer(pid: int) -> NodeHello | None:
            for line in self._node_says.new_lines():
                if "ready:" not in line and "lacks:" not in line:
                    self.say(line.removeprefix("node: "))
            with contextlib.suppress(HostFault):
                return node_hello(self._node_socket, started=pid)
            return None

        found = self._await("node", answer, NODE_SECONDS, "no sandboxes", 3)
        self.say(f"sandboxes run with {found.launcher}; profiles: {', '.join(found.profiles)}")
        for lack in found.lacks:
            self.say(f"note: {lack}")
        return found

    def _begin_remote(self) -> None:
        """Starts the daemon that calls remote agents. Only seasons with remote agents use it."""
        self._start_python_module(
            "remote",
            [
                *("sandbox.remote", "--socket", str(self.settings.remote_socket)),
                *("--parent", str(os.getpid())),
            ],
            only=(),
            more={name: text for name, text in os.environ.items() if name.startswith(EGRESS)},
        )

    def _await_remote(self) -> None:
        def answer(pid: int) -> NodeHello | None:
            assert self.settings.remote_socket is not None
            with contextlib.suppress(HostFault):
                return node_hello(self.settings.remote_socket, started=pid)
            return None

        self._await("remote", answer, REMOTE_SECONDS, "no remote agents", 1)

    def _begin_api(self) -> None:
        assert self._listener is not None
        listener = self._listener.fileno()
        self._start_python_module(
            "api",
            [
                "services.developer_server" if self.options.reload else "uvicorn",
                *("services.app:create_app", "--factory"),
                *("--fd", str(listener)),
                *("--log-level", "warning", "--no-access-log", "--no-server-header"),
                *("--timeout-graceful-shutdown", "2"),
            ],
            inherit=(listener,),
        )

    def _await_api(self) -> None:
        def answer(_: int) -> bool | None:
            return site_answers(self.settings.port) or None

        self._await("api", answer, API_SECONDS, "the site did not start", 5)

    def _await(
        self, name: str, answer: Callable[[int], T | None], seconds: float, trouble: str, lines: int
    ) -> T:
        """The part's first answer. Raises StartError with the end of its log if it dies or is
        late."""
        part = next(part for part in self.parts if part.name == name)
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if part.child is not None and (found := answer(part.child.process.pid)) is not None:
                return found
            if part.child is None or not part.child.alive():
                raise StartError(f"{trouble}: {log_tail(self._log(name), lines)}")
            time.sleep(0.05)
        raise StartError(f"{trouble} within {seconds:g} s; read {self._log(name)}")

    def _start_python_module(
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
                log=rotate_log(self._log(name)),
                nice=0 if name == "node" else SERVICE_NICE,  # sandboxes inherit the node's
                environment=environment,
                death_signal=death_signal,
                cwd=CHECKOUT,
                inherit=inherit,
            )

        part = SupervisedProcess(name, start, grace_seconds)
        self.parts.append(part)
        return part.begin()

    # Helpers

    def _slots(self) -> int:
        return self.options.slots or max(2, len(os.sched_getaffinity(0)) - 1)

    @property
    def _run_dir(self) -> Path:
        return self.state / "run"

    @property
    def _node_socket(self) -> Path:
        return self._run_dir / "node.sock"

    def _has_data(self) -> bool:
        return (self.state / "postgres" / "PG_VERSION").exists()

    def _log(self, name: str) -> Path:
        return self.state / "log" / f"{name}.log"

    def _address_folders(self) -> list[Path]:
        """Folders where the command line looks for an instance: this state folder and the usual
        one."""
        if not hasattr(self, "state"):
            return []
        usual = Path(Environment.read().state or CHECKOUT / ".state")
        return [self.state] if usual.absolute() == self.state else [self.state, usual]

    def _take_lock(self) -> None:
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

    def _write_address(self) -> None:
        assert self._lock is not None
        self._lock.write(json.dumps({"address": self.address, "pid": os.getpid()}))
        self._lock.flush()
