"""A connection to the test's own database, and a contest on it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ladder.database import db
from ladder.database.db import Connection
from tests.integration.ladder.contest import Contest, make_contest
from tests.integration.ladder.settled import settled, settled_template, settled_url
from tests.lent_databases import Lender

__all__ = ["settled", "settled_template", "settled_url"]

# A failing assert in these modules shows both sides.
pytest.register_assert_rewrite(
    *(
        f"tests.integration.ladder.{name}"
        for name in ("lease_acts", "queued_lineup", "remote_contest")
    )
)


@pytest.fixture
def database_url(lender: Lender, migrated_template: str) -> Iterator[str]:
    """The address of a migrated database without rows, which the next test gets again."""
    with lender.lent(migrated_template) as url:
        yield url


@pytest.fixture
def conn(database_url: str) -> Iterator[Connection]:
    """An autocommit connection: each call of the store is its own transaction."""
    with db.connect(database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def contest(conn: Connection) -> Contest:
    """An open season of a four-seat game, without entries."""
    return make_contest(conn)
