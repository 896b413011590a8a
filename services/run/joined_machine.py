"""Runs a machine that joined a site: a node and a worker, with the credentials of the machine.

Both are child processes, as those of ``peck up``. The worker only opens connections: to Postgres,
Redis and the site. It checks their certificates.
"""

from __future__ import annotations

import contextlib
import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import httpx
import psycopg
from redis import Redis
from redis.exceptions import RedisError

from games import external
from ladder.database import db
from ladder.machines import connections as ways
from ladder.matches import lease
from ladder.matches.records import AttemptFault
from ladder.settings import Settings
from sandbox.errors import HostFault
from sandbox.match.loans import NodeHello, node_hello
from services.environment_variables import CHECKOUT, Environment
from services.run import embedded_servers
from services.run.child_processes import Child
from services.run.passwords import write_private
from services.run.process_supervisor import (
    SETTINGS_OF_PROCESS,
    ProcessSupervisor,
    StartError,
    ensure_launcher,
)
from workers.lease_renewal import HeldLease, held_leases

END_SECONDS: Final = 18.0
"""How long running matches may go on after a request to stop. Then they are handed back."""
FOLDER: Final = "machine"
"""Folder below the state folder, so that an instance of ``peck up`` may run beside."""
CREDENTIALS: Final = "credentials.json"
AUTHORITIES: Final = "certificates.pem"
"""File with the site's own certificates."""
LOOK_SECONDS: Final = 10.0
WORKER_SETTINGS: Final = (
    *(name for name in SETTINGS_OF_PROCESS["worker"] if name != "remote_socket"),
    *("machine_secret", "machine_certificates"),
)


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a machine got when it joined."""

    address: str
    """Address of the site."""
    machine: str
    """Id of the machine."""
    name: str
    database_url: str
    redis_url: str
    secret: str
    queues: tuple[str, ...]
    certificates: str = ""
    """PEM, trusted besides public authorities."""


def machine_folder(chosen: Path | None) -> Path:
    """The folder of a machine that joined, created if missing. Raises StartError."""
    try:
        folder = embedded_servers.state_folder(CHECKOUT, chosen) / FOLDER
    except embedded_servers.EmbeddedError as error:
        raise StartError(str(error)) from None
    folder.mkdir(mode=0o711, exist_ok=True)
    return folder


def read_credentials(folder: Path) -> Credentials | None:
    """The stored credentials; None: this machine did not join. Raises StartError."""
    file = folder / CREDENTIALS
    if not file.is_file():
        return None
    try:
        kept = json.loads(file.read_text())
        return Credentials(**{**kept, "queues": tuple(kept["queues"])})
    except (ValueError, TypeError, KeyError):
        raise StartError(f"remove {file} and join again: it cannot be read") from None


def write_credentials(folder: Path, credentials: Credentials) -> None:
    """Stores the credentials in a file that only its owner can read."""
    write_private(folder / CREDENTIALS, json.dumps(asdict(credentials), indent=2) + "\n")


@dataclass(frozen=True, slots=True)
class SiteConnections:
    """Addresses of the three parts of a site, and the authorities that the machine trusts."""

    site: str
    database_url: str
    redis_url: str
    authorities: Path | None
    """File with the site's own certificates; None: the public authorities suffice."""


def site_connections(folder: Path, credentials: Credentials) -> SiteConnections:
    """The connections of a machine to its site. Writes its authorities into the folder."""
    file = None
    if credentials.certificates:
        file = folder / AUTHORITIES
        file.write_text(credentials.certificates)
        file.chmod(0o644)
    database_url, redis_url = ways.with_authorities(
        credentials.database_url, credentials.redis_url, file
    )
    return SiteConnections(credentials.address, database_url, redis_url, file)


def check_connections(connections: SiteConnections, trusted: str) -> None:
    """Connects once to the site, to Postgres and to Redis.

    Raises StartError, which names the part and the reason.
    """
    context = ways.client_context(connections.site, trusted)
    try:
        httpx.get(f"{connections.site}/health/live", verify=context, timeout=LOOK_SECONDS)
    except httpx.HTTPError as error:
        raise StartError(
            f"the site at {connections.site} cannot be reached: {error};"
            " check the address and your network"
        ) from None
    try:
        db.connect(connections.database_url).close()
    except psycopg.Error as error:
        raise StartError(f"Postgres of the site cannot be reached: {error}") from None
    try:
        with contextlib.closing(
            Redis.from_url(connections.redis_url, socket_connect_timeout=LOOK_SECONDS)
        ) as redis:
            redis.ping()
    except (RedisError, OSError) as error:
        raise StartError(f"Redis of the site cannot be reached: {error}") from None


def find_node(socket: Path) -> NodeHello:
    """The hello of a node that runs already. Raises StartError if it does not answer."""
    try:
        return node_hello(socket)
    except HostFault as error:
        raise StartError(f"start the node first: {error}") from None


@dataclass(kw_only=True)
class JoinedMachine(ProcessSupervisor):
    """Node and worker of this machine. Call ``start``, then ``watch``, and ``stop`` at the end."""

    credentials: Credentials
    node: Path | None = None
    """Socket of a node that runs already. None: the machine starts its own."""

    def start(self) -> None:
        """Starts the node, then the worker. Raises StartError."""
        settings = Settings()
        try:
            external.register_games(Environment.read().games)
        except external.ExternalGameError as error:
            raise StartError(f"{external.VARIABLE}: {error}") from None
        self.state = machine_folder(self.options.state)
        self.take_lock()
        connections = site_connections(self.state, self.credentials)
        check_connections(connections, self.credentials.certificates)
        self.run_dir.mkdir(mode=0o711, exist_ok=True)
        if self.node is None:
            ensure_launcher(self.options.launcher, self.options.install, self.say)
            self.begin_node()
            node = self.await_node()
        else:
            node = find_node(self.node)
        queues = [name for name in self.credentials.queues if name != "play.gpu" or node.gpus]
        self.settings = Settings(
            worker_database_url=connections.database_url,
            redis_url=connections.redis_url,
            blobs_url=connections.site,
            machine_certificates=str(connections.authorities or ""),
            machine_secret=self.credentials.secret,
            run_dir=self.run_dir,
            node_socket=self.node or self.node_socket,
            games=external.absolute_paths(settings.games),
            queues=",".join(queues),
            max_parallel_seats=settings.max_parallel_seats,
            speed_class=settings.speed_class,
        )
        worker = ["workers.main", "--queues", ",".join(queues), "--slots", str(self.slots())]
        self.start_python_module("worker", worker, only=WORKER_SETTINGS, grace_seconds=END_SECONDS)

    def stop(self) -> None:
        """Takes no new match. Lets running matches end for END_SECONDS, then hands them back."""
        worker = next((part.child for part in self.parts if part.name == "worker"), None)
        if worker is not None and worker.alive():
            held = self._end_worker(worker)
            with contextlib.suppress(psycopg.Error):  # then the leases run out
                self._hand_back(held)
        super().stop()

    def _end_worker(self, worker: Child) -> list[HeldLease]:
        """Ends the worker, and returns the leases of the matches that did not end in time."""
        worker.ask_to_stop()
        ends_at = time.monotonic() + END_SECONDS
        held: list[HeldLease] = []
        with contextlib.suppress(KeyboardInterrupt):  # a second Ctrl-C
            while worker.alive() and time.monotonic() < ends_at:
                time.sleep(0.1)
        if worker.alive():
            held = held_leases(self.run_dir)
        worker.stop(0.0)
        return held

    def _hand_back(self, held: list[HeldLease]) -> None:
        if not held:
            return
        stops = AttemptFault("worker", "the machine stops")
        with db.connect(self.settings.worker_database_url, autocommit=True) as conn:
            handed_back = sum(
                lease.fail_attempt(
                    conn, lease_held.match_id, lease_held.attempt, lease_held.worker, stops
                )
                for lease_held in held
            )
        self.say(f"handed {handed_back} running matches back")
