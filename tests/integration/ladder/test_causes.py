"""Causes of void matches and of faults: the code decides by them, whatever the texts say."""

from __future__ import annotations

import psycopg
import pytest

from ladder.database import migrate
from ladder.enums import FaultCause, MatchState, VoidCause
from ladder.matches import history
from tests.integration.ladder.contest import Contest

TEXTS = {
    "a remote agent was away, in seat 1": VoidCause.AGENT_UNREACHABLE,
    "3 attempts used up; the last: BoxLate: no box was free": VoidCause.ATTEMPTS_USED_UP,
    "waited in the queue past its deadline": VoidCause.OVERDUE,
    "not validated in time": VoidCause.OVERDUE,
    "the scrim was cancelled": VoidCause.CALLED_OFF,
    "the batch was cancelled": VoidCause.CALLED_OFF,
    "the comparison was cancelled": VoidCause.CALLED_OFF,
    "the tournament was cancelled": VoidCause.CALLED_OFF,
    "the rejudgement was called off": VoidCause.CALLED_OFF,
    "the rejudgement was dropped": VoidCause.CALLED_OFF,
    "the entry was withdrawn": VoidCause.ENTRY_LEFT,
    "the entry was disqualified": VoidCause.ENTRY_LEFT,
    "the owner of an agent deleted it": VoidCause.ENTRY_LEFT,
    "its pairing is over": VoidCause.NOT_NEEDED,
    "the comparison has its verdict": VoidCause.NOT_NEEDED,
}
"""Every text of the previous release that had no cause."""
DETAILS = {
    "BoxLate: no box was free in time": FaultCause.NO_BOX,
    "HostTooSlow: seat 1 waited": FaultCause.SLOW_HOST,
    "OSError: a box said BoxLate: no": None,
}


def test_the_migration_gives_rows_of_the_previous_release_their_causes(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with psycopg.connect(database_url, autocommit=True) as conn:
        conn.execute("drop schema public cascade")
        conn.execute("create schema public")
        others = [file for file in migrate.migration_files() if not file[0].startswith("0030")]
        monkeypatch.setattr(migrate, "migration_files", lambda: others)
        migrate.migrate(database_url)
        for number, text in enumerate(TEXTS):
            conn.execute(
                "insert into matches (id, kind, season_id, state, queue, profiles, deadline_at,"
                " seed, max_attempts, lease_seconds, void_reason) values (%s, 'rated', 'x', 'void',"
                " 'play.cpu', '{}', now(), '', 3, 15, %s)",
                (f"mat_{number:02}", text),
            )
        for number, detail in enumerate(DETAILS):
            conn.execute(
                "insert into attempts (match_id, attempt, worker, started_at, ended, fault, detail)"
                " values ('mat_00', %s, 'w', now(), 'fault', 'host', %s)",
                (number, detail),
            )
        monkeypatch.undo()
        migrate.migrate(database_url)
        found = conn.execute("select void_reason, void_cause from matches").fetchall()
        assert dict(found) == TEXTS
        found = conn.execute("select detail, fault_cause from attempts").fetchall()
        assert dict(found) == DETAILS


def test_matches_go_on_while_a_migration_fills_causes(contest: Contest, database_url: str) -> None:
    made = contest.rated(*(contest.active() for _ in range(4)))
    [fill] = [text for name, text in migrate.migration_files() if name == "0030_fill_causes.sql"]
    with psycopg.connect(database_url) as other:
        other.execute(fill.encode())
        contest.conn.execute("set lock_timeout = '5s'")
        contest.play(made, [1, 2, 3, 4])  # the migration has not committed
    assert history.get_match(contest.conn, made).state is MatchState.FINISHED


def test_a_migration_fills_only_the_column_that_it_names(contest: Contest) -> None:
    conn, made = contest.conn, contest.rated(*(contest.active() for _ in range(4)))
    contest.play(made, [1, 2, 3, 4])

    def fill(column: str, values: str) -> None:
        with conn.transaction():
            conn.execute("select set_config('peck.filling', %s, true)", (column,))
            conn.execute(f"update matches set {values}")

    for column, values in (
        ("void_cause", "void_cause = 'overdue', worker = 'another'"),
        ("worker", "worker = 'another'"),
        ("", "void_cause = 'overdue'"),
    ):
        with pytest.raises(psycopg.Error, match="rows of the record are never changed"):
            fill(column, values)
    fill("void_cause", "void_cause = 'overdue'")
    with pytest.raises(psycopg.Error, match="rows of the record are never changed"):
        fill("void_cause", "void_cause = 'not_needed'")


@pytest.mark.parametrize("text", list(TEXTS)[3:])  # SQL functions write the others
def test_a_site_of_the_version_before_gives_causes_too(contest: Contest, text: str) -> None:
    made = contest.rated(*(contest.active() for _ in range(4)))
    contest.conn.execute("select lease_void(array[%s], %s)", (made, text))
    assert history.get_match(contest.conn, made).void_cause is TEXTS[text]
