"""One fleet for all tests of a process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ladder.database import db, migrate
from services.run import embedded_servers
from tests.chaos.fleet import Fleet, running, wait_for_node


@pytest.fixture(scope="session")
def fleet() -> Iterator[Fleet]:
    """A fleet whose parts run. A test leaves no match open, and every part started again."""
    with running() as made:
        migrate.migrate(made.database_url)
        with db.connect(made.database_url) as conn:
            db.set_worker_login(conn, embedded_servers.role_password(made.state, db.WORKER_ROLE))
        made.start("node")
        wait_for_node(made)
        for name in ("scheduler", "rater", "worker-1", "worker-2"):
            made.start(name)
        yield made
