"""The processes of a small deployment; a test can kill and restart each one."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ladder.database import db
from sandbox.errors import HostFault
from sandbox.match.loans import node_hello
from services.run import embedded_servers
from services.run.child_processes import Child, log_tail, spawn
from tests import servers
from tests.daemon import LIBRARIES, daemon_of
from tests.waiting import wait_until
from workers.liveness import STALLED_STATUS

CHECKOUT = Path(__file__).resolve().parents[2]


class Fleet:
    """Postgres, Redis, node, scheduler, rater and two workers of two slots, on one folder."""

    def __init__(self, state: Path) -> None:
        self.state = state
        self.run_dir = state / "run"
        self.run_dir.mkdir(mode=0o711)
        self.node_socket = self.run_dir / "node.sock"
        self.blobs_url = (state / "blobs").as_uri()
        (state / "blobs").mkdir()
        self.postgres = embedded_servers.start_postgres(state)
        self.redis = embedded_servers.start_redis(state)
        self.database_url = self.postgres.url
        self.children: dict[str, Child] = {}
        self.stalled: list[str] = []
        """Workers that exited because they got no message, and were started again."""

    def start(self, name: str) -> Child:
        """Start one of our processes: node, scheduler, rater, worker-1, worker-2."""
        kind = name.partition("-")[0]
        module = {
            "node": [
                *("sandbox.node", "--launcher", "bubblewrap", "--profile", "python"),
                *("--state-dir", str(LIBRARIES)),
                *("--socket", str(self.node_socket), "--run-dir", str(self.run_dir / "node")),
            ],
            "scheduler": ["services.scheduler"],
            "rater": ["workers.main", "--queues", "rate", "--slots", "1"],
            "worker": ["workers.main", "--slots", "2"],
        }[kind]
        environment = {
            **{key: value for key, value in os.environ.items() if not key.startswith("PECK_")},
            "PYTHONPATH": str(CHECKOUT),
            "PECK_REDIS_URL": self.redis.url,
            "PECK_BLOBS_URL": self.blobs_url,
            "PECK_RUN_DIR": str(self.run_dir),
            "PECK_NODE_SOCKET": str(self.node_socket),
        }
        if kind == "worker":
            worker_url = embedded_servers.postgres_url(self.state, "peck", db.WORKER_ROLE)
            environment["PECK_WORKER_DATABASE_URL"] = worker_url
        elif kind != "node":
            environment["PECK_DATABASE_URL"] = self.database_url
        self.children[name] = spawn(
            name,
            [sys.executable, "-P", "-m", *module],
            log=self.log(name),
            environment=environment,
            death_signal=signal.SIGTERM if kind == "node" else signal.SIGKILL,
            cwd=CHECKOUT,
        )
        return self.children[name]

    def kill(self, name: str) -> None:
        """SIGKILL the process; for the node, the daemon behind its guard."""
        child = self.children[name]
        if name == "node":
            os.kill(daemon_of(child.process.pid), signal.SIGKILL)
        else:
            child.process.kill()
        child.process.wait()

    def strike(self, name: str) -> None:
        """Kill and restart at once."""
        self.kill(name)
        self.start(name)

    def start_stalled_again(self) -> None:
        """Restart each worker that exited, as `peck up` and compose do."""
        for name, child in list(self.children.items()):
            if child.process.poll() == STALLED_STATUS:
                self.stalled.append(name)
                self.start(name)

    def empty_redis(self) -> None:
        """Kill Redis, lose its data, restart it."""
        self.redis.child.process.kill()
        self.redis.child.process.wait()
        shutil.rmtree(self.state / "redis")
        self.redis = embedded_servers.start_redis(self.state)

    def restart_postgres(self) -> None:
        """Crash Postgres with all clients connected, and restart it."""
        self.postgres.child.process.send_signal(signal.SIGQUIT)
        self.postgres.child.process.wait()
        self.postgres = embedded_servers.start_postgres(self.state)

    @contextmanager
    def printing_logs(self) -> Iterator[None]:
        """Print the ends of all logs if the block fails."""
        try:
            yield
        except BaseException:
            for name in self.children:
                print(f"== {name}\n{log_tail(self.log(name), 15)}")
            raise

    def log(self, name: str) -> Path:
        return self.state / "log" / f"{name}.log"

    def stop(self) -> None:
        for child in self.children.values():
            child.ask_to_stop()
        for child in self.children.values():
            child.stop(10.0)
        self.redis.stop()
        self.postgres.stop()


@contextmanager
def running() -> Iterator[Fleet]:
    """Runs the servers without Python processes; stops everything at the end."""
    folder = Path(tempfile.mkdtemp(prefix="peck-chaos-", dir=servers.fast_place()))
    folder.chmod(0o711)
    fleet = Fleet(folder)
    try:
        with fleet.printing_logs():
            yield fleet
    finally:
        fleet.stop()
        shutil.rmtree(folder, ignore_errors=True)


def wait_for_node(fleet: Fleet) -> None:
    def answers() -> bool:
        with suppress(HostFault):
            node_hello(fleet.node_socket)
            return True
        return False

    wait_until(answers, "the node answers")
