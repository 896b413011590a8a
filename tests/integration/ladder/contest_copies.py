"""A contest that is raised once, and copies of its database for the tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from ladder.database import db
from ladder.database.db import Connection
from tests.integration.ladder.contest import Contest
from tests.servers import cloned


@dataclass(frozen=True)
class KeptContest:
    """A contest whose database has no connections."""

    database: str
    contest: Contest

    def on(self, conn: Connection) -> Contest:
        """The contest on a copy of its database."""
        return replace(self.contest, conn=conn, entries=[*self.contest.entries])


@contextmanager
def kept(
    postgres_url: str, migrated_template: str, make: Callable[[Connection], Contest]
) -> Iterator[KeptContest]:
    """What ``make`` raises, in a database of its own."""
    with cloned(postgres_url, migrated_template) as url:
        with db.connect(url, autocommit=True) as conn:
            made = make(conn)
        yield KeptContest(urlsplit(url).path.removeprefix("/"), made)


@contextmanager
def copied(postgres_url: str, source: KeptContest) -> Iterator[Contest]:
    """A copy of the contest, with its own connection in autocommit."""
    with cloned(postgres_url, source.database) as url, db.connect(url, autocommit=True) as conn:
        yield source.on(conn)
