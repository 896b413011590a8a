"""The whole instance with real servers and real boxes, for tests that need all of it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from ladder.database import db
from services.api_client import Client
from services.run.child_processes import log_tail
from services.run.demo import admin_token
from services.run.local_instance import LocalInstance
from services.run.process_supervisor import UpOptions
from tests import servers


@dataclass(frozen=True)
class Stack:
    """A running instance: its address and an administrator's token."""

    address: str
    admin_token: str
    instance: LocalInstance
    clients: ExitStack

    def client(self, token: str | None = None) -> Client:
        """The API with this token; closed with the stack."""
        return self.clients.enter_context(Client(self.address, token))


@contextmanager
def running(
    *, slots: int = 2, launcher: str = "auto", prepare: Callable[[Path], None] | None = None
) -> Iterator[Stack]:
    """Starts the parts of `peck up` without its demo league; removes everything at the end.

    ``prepare`` gets the state folder before the start. It prints the logs if the test fails.
    """
    folder = Path(tempfile.mkdtemp(prefix="peck-stack-", dir=servers.fast_place()))
    folder.chmod(0o711)
    said: list[str] = []
    options = UpOptions(
        folder / "state", 0, install=False, demo=False, launcher=launcher, slots=slots
    )
    instance = LocalInstance(options, said.append)
    try:
        if prepare is not None:
            prepare(folder / "state")
        instance.start()
        with db.connect(instance.settings.database_url) as conn:
            token = admin_token(conn, "root")
        with ExitStack() as clients:
            yield Stack(instance.address, token, instance, clients)
    except BaseException:
        print("\n".join(said))
        for part in instance.parts:
            print(f"== {part.name}\n{log_tail(instance.state / 'log' / f'{part.name}.log', 15)}")
        raise
    finally:
        for part in instance.parts:
            if part.name == "worker" and part.child is not None:
                part.child.process.kill()  # it would go on with its matches for 5 s
        instance.stop()
        shutil.rmtree(folder, ignore_errors=True)
