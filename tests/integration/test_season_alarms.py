"""The alarms of seasons in which no match ends, with their reasons."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from ladder.enums import FaultCause
from ladder.leagues import leagues, seasons
from ladder.matches import lease
from ladder.matches.records import AttemptFault
from ladder.reports import season_health
from services.scheduler.jobs import AlarmLog
from tests.integration.ladder.contest import Contest, make_contest
from tests.integration.six_entries import contest as contest
from tests.integration.six_entries import silence_workers
from tests.integration.six_entries import six as six


def paused(contest: Contest) -> None:
    leagues.set_league_state(contest.conn, contest.league.id, "paused")


def no_workers(contest: Contest) -> None:
    silence_workers(contest.conn)


def results_unrated(contest: Contest) -> None:
    contest.play(contest.rated(*contest.entries[:4]), [1, 2, 3, 4])
    contest.conn.execute("update entries set last_match_at = null")


def nothing_made(contest: Contest) -> None:
    assert contest.entries


def too_few(contest: Contest) -> None:
    contest.conn.execute(
        "update entries set state = 'retired' where id <> %s", (contest.entries[0],)
    )


def one_agent_and_two_anchors(contest: Contest) -> None:
    contest.conn.execute(
        "update entries set state = 'retired' where not id = any (%s)", (contest.entries[:3],)
    )
    contest.conn.execute(
        "update entries set is_anchor = true where id = any (%s)", (contest.entries[:2],)
    )


def no_wake(contest: Contest) -> None:
    contest.rated(*contest.entries[:4])


def not_taken(contest: Contest) -> None:
    contest.rated(*contest.entries[:4])
    contest.conn.execute("update matches set woken_at = now() where state = 'queued'")


def not_served(contest: Contest) -> None:
    contest.rated(*contest.entries[:4])
    contest.conn.execute("update matches set profiles = '{torch}' where state = 'queued'")


def hardly_served(contest: Contest) -> None:
    contest.conn.execute(
        "update entries set profile = 'torch' where id = any (%s)", (contest.entries[:3],)
    )


def slow(contest: Contest) -> None:
    contest.claim(contest.rated(*contest.entries[:4]))


@pytest.mark.parametrize(
    ("situation", "cause", "reason"),
    [
        (paused, "paused", "the league is paused"),
        (no_workers, "no_capacity", "no worker that serves play.cpu"),
        (results_unrated, "error", "1 accepted results wait to be rated"),
        (nothing_made, "error", "no match is made although 4 of 4 seats can be filled"),
        (too_few, "nothing_to_pair", "1 of 4 seats can be filled: add an agent or an anchor"),
        (one_agent_and_two_anchors, "nothing_to_pair", "3 of 4 seats can be filled: add an agent"),
        (no_wake, "error", "no wake-up message gets through"),
        (not_taken, "error", "1 matches wait and no worker takes them"),
        (
            not_served,
            "no_capacity",
            "its matches cannot be played: no node serves profile torch now",
        ),
        (
            hardly_served,
            "no_capacity",
            "3 active entries wait for a node that serves profile torch",
        ),
        (slow, "error", "1 matches are being played and none has finished"),
    ],
)
def test_a_silent_season_raises_an_alarm_with_the_reason(
    contest: Contest, situation: Callable[[Contest], None], cause: str, reason: str
) -> None:
    assert season_health.season_alarms(contest.conn) == []
    contest.conn.execute("update seasons set opens_at = now() - interval '1 hour'")
    situation(contest)
    (alarm,) = season_health.season_alarms(contest.conn)
    assert reason in alarm.reason
    assert alarm.cause == cause
    assert alarm.league == contest.league.slug
    assert alarm.silent_seconds > alarm.expected_seconds


def test_an_alarm_is_raised_after_three_silent_intervals(contest: Contest) -> None:
    conn = contest.conn
    silent = "update seasons set opens_at = now() - cadence_seconds * interval '1 second' * %s"
    for intervals, count in ((1.0, 0), (2.9, 0), (3.1, 1)):
        conn.execute(silent, (intervals,))
        assert len(season_health.season_alarms(conn)) == count
    conn.execute("update entries set is_anchor = true")  # nobody has entered
    assert season_health.season_alarms(conn) == []
    conn.execute("update entries set is_anchor = false")
    seasons.set_season_state(conn, contest.season.id, "finished")
    assert season_health.season_alarms(conn) == []


def test_more_silent_seasons_need_no_more_queries(
    contest: Contest, monkeypatch: pytest.MonkeyPatch
) -> None:
    conn, asked = contest.conn, []
    execute = psycopg.Cursor.execute

    def counted(self: Any, query: Any, *args: Any, **kwargs: Any) -> Any:
        asked.append(query)
        return execute(self, query, *args, **kwargs)

    monkeypatch.setattr(psycopg.Cursor, "execute", counted)
    counts = []
    for more in (0, 3):
        others = [make_contest(conn) for _ in range(more)]
        for other in others:
            other.active()
        hardly_served(contest)
        conn.execute("update seasons set opens_at = now() - interval '1 hour'")
        asked.clear()
        reasons = {alarm.season_id: alarm.reason for alarm in season_health.season_alarms(conn)}
        counts.append(len(asked))
        assert len(reasons) == 1 + more
    assert counts[0] == counts[1]
    assert "a node that serves profile torch" in reasons[contest.season.id]
    assert all("seats can be filled" in reasons[other.season.id] for other in others)


def test_a_host_too_slow_for_a_season_raises_an_alarm(
    contest: Contest, capsys: pytest.CaptureFixture[str]
) -> None:
    conn = contest.conn
    order = contest.claim(contest.rated(*contest.entries[:4]))
    slow = AttemptFault("host", "seat 0 waited 310.0 s for a core", FaultCause.SLOW_HOST)
    assert season_health.season_alarms(conn) == []
    lease.fail_attempt(conn, order.match_id, order.attempt, "w1", slow)
    (alarm,) = season_health.season_alarms(conn)
    assert alarm.cause == "slow_host"
    assert "too slow for this season: w1 (1 attempts)" in alarm.reason
    looking = AlarmLog()
    looking.log_alarm_changes(conn)
    looking.log_alarm_changes(conn)
    assert capsys.readouterr().err.count("host_too_slow") == 1


def test_an_alarm_is_logged_once(contest: Contest, capsys: pytest.CaptureFixture[str]) -> None:
    conn, looking = contest.conn, AlarmLog()
    conn.execute("update seasons set opens_at = now() - interval '1 hour'")
    looking.log_alarm_changes(conn)
    looking.log_alarm_changes(conn)
    assert capsys.readouterr().err.count("season_silent") == 1
    conn.execute("update seasons set opens_at = now()")
    looking.log_alarm_changes(conn)
    assert "season_alarm_cleared" in capsys.readouterr().err
