from __future__ import annotations

import pytest

from ladder.database import db, idempotency
from ladder.errors import Conflict
from tests.integration.ladder.contest import Contest


def test_a_repeat_gets_the_first_answer(database_url: str, contest: Contest) -> None:
    for expected in (None, idempotency.StoredAnswer(201, {"id": 1})):
        with db.connect(database_url) as conn:
            kept = idempotency.begin_request(conn, contest.host, "key", "request")
            assert kept == expected
            if kept is None:
                idempotency.store_answer(conn, contest.host, "key", 201, {"id": 1})


def test_a_failed_request_may_be_repeated(database_url: str, contest: Contest) -> None:
    with db.connect(database_url) as conn:
        assert idempotency.begin_request(conn, contest.host, "key", "request") is None
        conn.rollback()
    assert idempotency.begin_request(contest.conn, contest.host, "key", "request") is None


def test_a_key_serves_one_request_and_one_user(contest: Contest) -> None:
    assert idempotency.begin_request(contest.conn, contest.host, "key", "request") is None
    with pytest.raises(Conflict, match="still running"):
        idempotency.begin_request(contest.conn, contest.host, "key", "request")
    idempotency.store_answer(contest.conn, contest.host, "key", 200, None)
    with pytest.raises(Conflict, match="different request"):
        idempotency.begin_request(contest.conn, contest.host, "key", "another")
    assert idempotency.begin_request(contest.conn, contest.team()[0], "key", "another") is None


def test_old_answers_are_forgotten(contest: Contest) -> None:
    idempotency.begin_request(contest.conn, contest.host, "key", "request")
    assert idempotency.delete_old_answers(contest.conn) == 0
    contest.conn.execute("update idempotency_keys set created_at = now() - interval '25 hours'")
    assert idempotency.delete_old_answers(contest.conn) == 1
