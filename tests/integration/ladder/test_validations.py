"""Validations: what their results decide, and which are repeated."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest
from psycopg.types.json import Jsonb

from ladder.entries import deadlines, entries
from ladder.entries.records import EntryState
from ladder.enums import MatchState, VoidCause
from ladder.leagues import seasons
from ladder.matches import history, matches
from ladder.matches.records import FinishResult
from tests.integration.ladder.contest import Contest, digest, results


def test_a_passed_validation_activates_the_entry(contest: Contest) -> None:
    entry_id = contest.pending()
    match_id = contest.validation(entry_id)
    seats = history.get_match(contest.conn, match_id).seats
    assert {seat.entry_id for seat in seats} == {entry_id}
    assert len(seats) == contest.season.seats
    before = seasons.get_season(contest.conn, contest.season.id).revision
    contest.play(match_id, [1, 1, 1, 1])
    entry = entries.get_entry(contest.conn, entry_id)
    assert entry.state is EntryState.ACTIVE
    assert (entry.mu, entry.games, entry.in_flight) == (600.0, 0, 0)
    assert seasons.get_season(contest.conn, contest.season.id).revision == before + 1


def test_a_fault_of_any_validation_seat_rejects_the_entry(contest: Contest) -> None:
    entry_id = contest.pending()
    contest.play(contest.validation(entry_id), [1, 2, 2, 4], ["DONE", "DONE", "DONE", "TIMEOUT"])
    entry = entries.get_entry(contest.conn, entry_id)
    assert entry.state is EntryState.REJECTED
    assert entry.reason == "TIMEOUT at step 7: it broke"
    assert deadlines.upload_limits(contest.conn, contest.season.id, entry.team_id).used == 1


@pytest.mark.parametrize(
    ("told", "reason", "used"),
    [
        ({"bundle_refused": True}, "no main.py", 0),
        ({"bundle_refused": False}, "The bundle was refused: no main.py", 1),
        ({}, "The bundle was refused: no main.py", 1),
    ],
    ids=["refused", "only its text", "worker of the version before"],
)
def test_an_upload_that_is_reported_as_refused_does_not_count(
    contest: Contest, told: dict[str, bool], reason: str, used: int
) -> None:
    entry_id = contest.pending()
    order = contest.claim(contest.validation(entry_id))
    seats: list[dict[str, Any]] = []
    for seat in results([1, 1, 1, 1], ["ERROR"] * 4):
        report = {**asdict(seat), "reason": reason, "failed_step": 0}
        del report["bundle_refused"]
        seats.append({**report, **told})
    contest.conn.execute(
        "select lease_finish(%s, %s, 'w1', %s, %s, 'node', 'image', 'rules')",
        (
            order.match_id,
            order.attempt,
            Jsonb(seats),
            Jsonb([{"id": "epi_1", "position": 0, "steps": 1, "replay_digest": digest("replay")}]),
        ),
    )
    entry = entries.get_entry(contest.conn, entry_id)
    assert entry.state is EntryState.REJECTED
    assert deadlines.upload_limits(contest.conn, contest.season.id, entry.team_id).used == used
    assert ("the upload does not count" in str(entry.reason)) is (used == 0)


def test_a_void_validation_is_repeated(contest: Contest) -> None:
    entry_id = contest.pending()
    seen = set()
    for _ in range(entries.VALIDATIONS):
        match_id = contest.validation(entry_id)
        seen.add(match_id)
        assert entries.expire_pending(contest.conn) == []
        matches.void_matches(
            contest.conn, [match_id], VoidCause.ATTEMPTS_USED_UP, "the node burned"
        )
        assert entries.expire_pending(contest.conn) == [entry_id]
    assert len(seen) == entries.VALIDATIONS
    entry = entries.get_entry(contest.conn, entry_id)
    assert entry.state is EntryState.REJECTED
    assert entry.reason is not None
    assert entry.reason.startswith("our fault")
    assert deadlines.upload_limits(contest.conn, contest.season.id, entry.team_id).used == 0
    assert entries.expire_pending(contest.conn) == []


def test_an_overdue_validation_gets_a_new_match(
    contest: Contest,
) -> None:
    entry_id = contest.pending()
    old = contest.validation(entry_id)
    order = contest.claim(old)
    contest.conn.execute(
        "update entries set deadline_at = now() - interval '1 s' where id = %s", (entry_id,)
    )
    assert entries.expire_pending(contest.conn) == [entry_id]
    assert contest.finish(old, order.attempt, [1, 1, 1, 1]) is FinishResult.LATE
    new = contest.validation(entry_id)
    assert new != old
    assert history.get_match(contest.conn, old).state is MatchState.VOID
    contest.play(new, [1, 1, 1, 1])
    assert entries.get_entry(contest.conn, entry_id).state is EntryState.ACTIVE
