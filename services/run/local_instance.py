"""Runs a whole instance on one machine: the site, its servers, a node and a worker.

Work in progress is in Postgres, so stopping loses nothing, even by SIGKILL.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from games import external
from ladder.database import db, migrate
from ladder.errors import Invalid, LadderError
from ladder.settings import Settings, SetupSettings
from sandbox.errors import HostFault
from sandbox.match.loans import NodeHello, node_hello
from sandbox.settings import Settings as NodeSettings
from services.environment_variables import CHECKOUT, Environment
from services.run import demo, embedded_servers, setup
from services.run.passwords import read_or_create_secret, write_private
from services.run.process_supervisor import (
    HOST,
    ProcessSupervisor,
    StartError,
    SupervisedProcess,
    ensure_launcher,
    listen_on_port,
    site_answers,
)

API_SECONDS: Final = 120.0
REMOTE_SECONDS: Final = 120.0
CHOSEN_HERE: Final = frozenset(
    ("run_dir", "node_socket", "remote_socket", "port", "machine_secret")
)
"""Settings that `peck up` chooses itself, or that have no meaning here."""
EGRESS: Final = "PECK_EGRESS_"
"""Prefix of the variables that the remote daemon reads itself."""


def unused_settings(variables: Iterable[str]) -> list[str]:
    """The names among these that look like settings and reach no part of `peck up`."""
    names_of_settings = {*(Settings.model_fields.keys() - CHOSEN_HERE), "demo_leagues", "python"}
    names_of_settings |= {
        field.name for record in (NodeSettings, Environment) for field in fields(record)
    }
    names = {f"PECK_{name.upper()}" for name in names_of_settings}
    return sorted(name for name in variables if name.startswith("PECK_") and name not in names)


@dataclass
class LocalInstance(ProcessSupervisor):
    """All parts of an instance. Call ``start``, then ``watch``, and ``stop`` at the end."""

    address: str = ""
    token: str = ""
    _listener: socket.socket | None = None

    def start(self) -> None:
        """Starts all parts, in the order of their dependencies. Raises StartError."""
        try:
            demo.select_demo_leagues(SetupSettings().demo_leagues)
            external.register_games(Environment.read().games)
        except ValidationError as error:
            wrong = error.errors()[0]
            text = wrong["msg"].removeprefix("Value error, ")
            raise StartError(f"PECK_{str(wrong['loc'][0]).upper()}: {text}") from None
        except Invalid as error:
            raise StartError(str(error)) from None
        except external.ExternalGameError as error:
            raise StartError(f"{external.VARIABLE}: {error}") from None
        if unused := unused_settings(os.environ):
            self.say(f"these settings have no effect on peck up: {', '.join(unused)}")
        try:
            self.state = embedded_servers.state_folder(CHECKOUT, self.options.state)
            if self._embedded:
                embedded_servers.write_format_mark(self.state)
            self.take_lock()
            self._listener = listen_on_port(self.options.port, self.say)
            ensure_launcher(self.options.launcher, self.options.install, self.say)
            self.begin_node()  # first, because it takes longest and needs no other part
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
        self.start_python_module("scheduler", ["services.scheduler"], grace_seconds=5.0)
        rater = ["workers.main", "--queues", "rate", "--slots", "1"]
        self.start_python_module("rater", rater, grace_seconds=5.0)
        self.start_python_module("notifier", ["workers.notifier"], grace_seconds=5.0)
        drawing = ["workers.main", "--queues", "draw", "--slots", "1"]
        self.start_python_module("pictures", drawing, grace_seconds=5.0)
        self._await_api()
        self._await_remote()
        node = self.await_node()
        gpu = node.gpus and "play.gpu" not in self.settings.queues
        queues = self.settings.queues + (",play.gpu" if gpu else "")
        worker = ["workers.main", "--queues", queues, "--slots", str(self.slots())]
        self.start_python_module(
            "worker", worker, grace_seconds=5.0
        )  # then the match is queued again
        for folder in self._address_folders():
            with contextlib.suppress(OSError):
                folder.mkdir(mode=0o700, exist_ok=True)
                (folder / "address").write_text(self.address + "\n")
                if folder != self.state:
                    write_private(folder / "token", self.token + "\n")
        self._write_address()

    def _release(self) -> None:
        for folder in self._address_folders():
            with contextlib.suppress(OSError):
                # If another instance holds the lock, the address may be that instance's.
                ours = folder == self.state and self._lock is not None
                if ours or (folder / "address").read_text().strip() == self.address:
                    (folder / "address").unlink()
        if self._listener is not None:
            self._listener.close()
        super()._release()

    @property
    def _embedded(self) -> bool:
        return not Settings().database_url

    def _prepare_database(self) -> None:
        """Updates the database and creates the demo leagues if wanted.

        Applies all migrations to an embedded database: no other process uses it.
        """
        self.say("preparing the database")
        try:
            db.require_reachable(self.settings.database_url)
            migrate.migrate(self.settings.database_url, after=self._embedded)
        except LadderError as error:
            raise StartError(str(error)) from None
        if self._embedded:
            with db.connect(self.settings.database_url) as conn:
                for role in (db.WORKER_ROLE, db.NOTIFIER_ROLE):
                    db.set_login(conn, role, embedded_servers.role_password(self.state, role))
        if self.options.demo:
            self.say("entering the reference agents in the demo leagues")
        with_league = self.options.demo
        self.token = setup.seed_demo(self.settings, self.state / "token", with_league=with_league)

    def _start_servers(self, listener: socket.socket) -> None:
        settings = Settings()
        database_url, redis_url = settings.database_url, settings.redis_url
        worker_url = settings.worker_database_url or database_url
        notifier_url = settings.notifier_database_url or database_url
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
        port = listener.getsockname()[1]
        chosen = settings.model_fields_set
        self.settings = settings.model_copy(
            update={
                "database_url": database_url,
                "worker_database_url": worker_url,
                "notifier_database_url": notifier_url,
                "redis_url": redis_url,
                "blobs_url": settings.blobs_url or blobs.as_uri(),
                "run_dir": self.run_dir,
                "node_socket": self.node_socket,
                "remote_socket": self.run_dir / "remote.sock",
                "port": port,
                "base_url": settings.base_url if "base_url" in chosen else f"http://{HOST}:{port}",
                "session_secret": settings.session_secret
                or read_or_create_secret(self.state / "session-secret"),
                "games": external.absolute_paths(settings.games),
                "sign_up": settings.sign_up if "sign_up" in chosen else "local",
            }
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

    def _begin_remote(self) -> None:
        """Starts the daemon that calls remote agents. Only seasons with remote agents use it."""
        self.start_python_module(
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

        self.await_part("remote", answer, REMOTE_SECONDS, "no remote agents", 1)

    def _begin_api(self) -> None:
        assert self._listener is not None
        listener = self._listener.fileno()
        self.start_python_module(
            "api",
            [
                "services.run.reload" if self.options.reload else "uvicorn",
                *("services.app:create_app", "--factory"),
                *("--fd", str(listener)),
                *("--log-level", "warning", "--no-access-log", "--no-server-header"),
                *("--timeout-graceful-shutdown", "2"),
            ],
            inherit=(listener,),
            # uvicorn would believe X-Forwarded-For from every program on this machine.
            more={"FORWARDED_ALLOW_IPS": Environment.read().proxy_addresses},
        )

    def _await_api(self) -> None:
        def answer(_: int) -> bool | None:
            return site_answers(self.settings.port) or None

        self.await_part("api", answer, API_SECONDS, "the site did not start", 5)

    def _has_data(self) -> bool:
        return (self.state / "postgres" / "PG_VERSION").exists()

    def _address_folders(self) -> list[Path]:
        """Folders where the command line looks for an instance: this state folder and the usual
        one."""
        if not hasattr(self, "state"):
            return []
        usual = Path(Environment.read().state or CHECKOUT / ".state")
        return [self.state] if usual.absolute() == self.state else [self.state, usual]

    def _write_address(self) -> None:
        assert self._lock is not None
        self._lock.write(json.dumps({"address": self.address, "pid": os.getpid()}))
        self._lock.flush()
