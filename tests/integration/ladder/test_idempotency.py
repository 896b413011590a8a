from __future__ import annotations

import pytest

from ladder.database import db, idempotency
from ladder.errors import Conflict
from tests.integration.ladder.contest import Contest


def test_a_repeat_gets_the_first_answer(database_url: str, contest: Contest) -> None:
    for expected in (None, idempotency.Answer(201, {"id": 1})):
        with db.connect(database_url) as conn:
            kept = idempotency.begin(conn, contest.host, "key", "request")
            assert kept == expected
            if kept is None:
                idempotency.complete(conn, contest.host, "key", 201, {"id": 1})


def test_a_request_that_failed_may_be_tried_again(database_url: str, contest: Contest) -> None:
    with db.connect(database_url) as conn:
        assert idempotency.begin(conn, contest.host, "key", "request") is None
        conn.rollback()
    assert idempotency.begin(contest.conn, contest.host, "key", "request") is None


def test_a_key_serves_one_request_and_one_user(contest: Contest) -> None:
    assert idempotency.begin(contest.conn, contest.host, "key", "request") is None
    with pytest.raises(Conflict, match="not over"):
        idempotency.begin(contest.conn, contest.host, "key", "request")
    idempotency.complete(contest.conn, contest.host, "key", 200, None)
    with pytest.raises(Conflict, match="different request"):
        idempotency.begin(contest.conn, contest.host, "key", "another")
    assert idempotency.begin(contest.conn, contest.team()[0], "key", "another") is None


def test_old_answers_are_forgotten(contest: Contest) -> None:
    idempotency.begin(contest.conn, contest.host, "key", "request")
    assert idempotency.forget(contest.conn) == 0
    contest.conn.execute("update idempotency_keys set created_at = now() - interval '25 hours'")
    assert idempotency.forget(contest.conn) == 1
