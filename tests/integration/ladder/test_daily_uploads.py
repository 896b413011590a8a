"""The daily limit of uploads."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

import pytest

from ladder.database import db
from ladder.database.db import Connection
from ladder.entries import deadlines, entries
from tests.integration.ladder.contest import Contest, make_contest


def test_a_repeated_entry_uses_one_upload_of_the_daily_limit(conn: Connection) -> None:
    contest = make_contest(conn, daily_limit=2)
    submission = contest.submission()
    entry, limits, created = entries.enter_season(conn, contest.season.id, submission.id)
    assert created
    assert (limits.used, limits.allowed, limits.left) == (1, 2, 1)
    assert limits.resets_at - datetime.now(UTC) <= timedelta(days=1)
    assert limits.resets_at.timetz().isoformat() == "00:00:00+00:00"
    again, limits, created = entries.enter_season(conn, contest.season.id, submission.id)
    assert (again.id, limits.used, created) == (entry.id, 1, False)


def test_the_daily_limit_counts_per_team_and_season(conn: Connection) -> None:
    contest = make_contest(conn, daily_limit=2)
    agent = contest.agent()
    contest.pending(agent)
    contest.pending(agent)
    told = r"2 of 2 used, 0 left; resets at .*:\d\d UTC$"
    with pytest.raises(deadlines.DailyLimitReached, match=told) as caught:
        contest.pending(agent)
    assert caught.value.limits.left == 0
    contest.pending()  # another team
    contest.pending(agent, count_limit=False)
    other = make_contest(conn, daily_limit=1)
    other.pending(agent)  # the same team in another season


def test_uploads_at_the_same_moment_never_pass_the_limit(
    database_url: str, conn: Connection
) -> None:
    contest = make_contest(conn, daily_limit=3)
    agent = contest.agent()
    submissions = [contest.submission(agent) for _ in range(8)]
    outcomes: list[bool] = []

    def enter(number: int) -> None:
        try:
            with db.connect(database_url) as own:
                entries.enter_season(own, contest.season.id, submissions[number].id)
            outcomes.append(True)
        except deadlines.DailyLimitReached:
            outcomes.append(False)

    threads = [threading.Thread(target=enter, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert sorted(outcomes) == [False] * 5 + [True] * 3
    assert len(entries.list_entries(conn, season_id=contest.season.id)) == 3


def test_a_rolled_back_upload_uses_no_daily_limit(database_url: str, contest: Contest) -> None:
    submission = contest.submission()
    with db.connect(database_url) as own:
        entries.enter_season(own, contest.season.id, submission.id)
        own.rollback()
    assert deadlines.upload_limits(contest.conn, contest.season.id, submission.team_id).used == 0
