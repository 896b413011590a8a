"""A season whose medals are decided: it is played once, and each test clones its database."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pytest

from ladder.database import db
from ladder.database.db import Connection
from ladder.ids import EntryId
from ladder.leagues.medals import MedalRuleKind, MedalRules
from ladder.ratings.medal_sealing import STANDINGS_THAT_MUST_AGREE
from tests.integration.ladder.contest import Contest, make_contest
from tests.integration.ladder.contest_copies import KeptContest, kept
from tests.integration.ladder.test_fitting import play, refit
from tests.servers import cloned

ONE_EACH: Final = MedalRules(MedalRuleKind.COUNTS, gold=1, silver=1, bronze=1)


def settle(contest: Contest, four: list[EntryId]) -> None:
    """Games in which earlier entries do better, with enough standings before the last."""
    play(contest, four, 60, seed=3)
    for _ in range(STANDINGS_THAT_MUST_AGREE - 1):
        refit(contest)
        play(contest, four, 5, seed=3)


@pytest.fixture(scope="session")
def settled_template(postgres_url: str, migrated_template: str) -> Iterator[KeptContest]:
    def make(conn: Connection) -> Contest:
        contest = make_contest(conn, medals=ONE_EACH, medal_confidence=0.8)
        settle(contest, [contest.active() for _ in range(4)])
        return contest

    with kept(postgres_url, migrated_template, make) as found:
        yield found


@pytest.fixture
def settled_url(postgres_url: str, settled_template: KeptContest) -> Iterator[str]:
    with cloned(postgres_url, settled_template.database) as url:
        yield url


@pytest.fixture
def settled(settled_url: str, settled_template: KeptContest) -> Iterator[Contest]:
    """An open season with a medal of each class. Its entries finished in their order."""
    with db.connect(settled_url, autocommit=True) as conn:
        yield settled_template.on(conn)
