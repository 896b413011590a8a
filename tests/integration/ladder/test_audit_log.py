"""The audit log on real rows: what was done stays written, newest first."""

from __future__ import annotations

import pytest
from psycopg import errors

from ladder.people import audit_log
from tests.integration.ladder.contest import Contest


def test_acts_are_listed_newest_first_with_their_author_and_reason(contest: Contest) -> None:
    conn, league = contest.conn, contest.league.id
    for n, by in enumerate((contest.host, None)):
        audit_log.record_audit(
            conn, league, by=by, act="extend", subject=f"s{n}", reason="ill", details={"days": n}
        )
    second, first = audit_log.list_audits(conn, league)
    assert (first.subject, first.by_user, first.details) == ("s0", contest.host, {"days": 0})
    assert first.by_name is not None
    assert (second.by_user, second.by_name, second.reason) == (None, None, "ill")
    assert audit_log.list_audits(conn, league, after=second.id) == [first]
    assert audit_log.list_audits(conn, league, limit=1) == [second]


def test_the_audit_log_cannot_be_changed(contest: Contest) -> None:
    conn = contest.conn
    audit_log.record_audit(
        conn, contest.league.id, by=None, act="extend", subject="s", reason="ill"
    )
    for act in ("update audits set reason = 'none'", "delete from audits"):
        with pytest.raises(errors.DatabaseError, match="never changed"), conn.transaction():
            conn.execute(act)
