"""Strikes of unreachable remote agents: who gets one, and when it goes."""

from __future__ import annotations

import pytest
from psycopg.errors import InsufficientPrivilege

from ladder.database.db import Connection
from ladder.entries import candidates, entries, remote_agents
from ladder.entries.records import EntryState
from ladder.enums import MatchState
from ladder.errors import Conflict
from ladder.ids import EntryId
from ladder.matches import history, lease
from ladder.matches.records import FinishResult
from ladder.standings import leaderboard
from tests.integration.ladder.contest import Contest
from tests.integration.ladder.remote_contest import (
    AWAY,
    active,
    be_away,
    entered,
    play,
    rested,
    state,
    wait_seconds,
)
from tests.integration.ladder.remote_contest import conn as conn
from tests.integration.ladder.remote_contest import contest as contest


def test_only_the_absent_agent_of_a_void_match_gets_a_strike(contest: Contest) -> None:
    away, there = active(contest), active(contest)
    match = history.get_match(contest.conn, be_away(contest, away, there))
    assert (match.state, match.accepted_no) == (MatchState.VOID, None)
    assert match.void_reason == "a remote agent was away, in seat 0"
    assert [seat.remote for seat in match.seats] == [True, True]
    found = entries.get_entry(contest.conn, away)
    assert (found.strikes, found.in_flight, found.state) == (1, 0, EntryState.ACTIVE)
    assert found.reason == f"strike 1 of 3: {AWAY}"
    other = entries.get_entry(contest.conn, there)
    assert (other.strikes, other.in_flight, other.reason) == (0, 0, None)


def test_a_match_without_an_answered_move_is_a_strike(
    contest: Contest,
) -> None:
    silent, there = active(contest), contest.active()
    be_away(contest, silent, there)
    rested(contest, silent)
    counted = []
    for answered in (False, *[True] * 9, False, *[True] * 20):
        if not answered:
            rested(contest, silent)
        match_id = contest.rated(silent, there)
        assert play(contest, match_id, answered=answered) is FinishResult.ACCEPTED
        counted.append(entries.get_entry(contest.conn, silent).strikes)
        if counted[-1] == 3:
            break
    assert counted == [2] * 10 + [3]  # nine were not enough
    assert state(contest, silent) is EntryState.PAUSED
    assert entries.get_entry(contest.conn, there).strikes == 0  # a bundle has no strikes


def test_ten_answered_matches_remove_one_strike(
    contest: Contest,
) -> None:
    back, there = active(contest), contest.active()
    be_away(contest, back, there, times=2)
    for strikes in (1, 0):
        found = entries.get_entry(contest.conn, back)
        assert (found.strikes, found.reason) == (strikes + 1, f"strike 2 of 3: {AWAY}")
        for _ in range(10):
            play(contest, contest.rated(back, there))
    found = entries.get_entry(contest.conn, back)
    assert (found.strikes, found.reason) == (0, None)


def test_simultaneous_matches_give_one_strike(
    contest: Contest,
) -> None:
    away, there = active(contest), contest.active()
    together = [contest.rated(away, there) for _ in range(3)]
    for match_id in together:
        order = lease.claim_match(contest.conn, match_id, "w1")
        assert order is not None
        assert remote_agents.void_for_unreachable_agents(
            contest.conn, match_id, order.attempt, "w1", {0: AWAY}
        )
    found = entries.get_entry(contest.conn, away)
    assert (found.state, found.strikes, found.in_flight) == (EntryState.ACTIVE, 1, 0)

    def paired() -> set[EntryId]:
        return {
            each.entry_id for each in candidates.pairing_candidates(contest.conn, contest.season.id)
        }

    assert paired() == {there}
    rested(contest, away)
    assert paired() == {away, there}


def test_invalid_reports_of_absence_are_refused(contest: Contest) -> None:
    away, bundle = active(contest), contest.active()
    match_id = contest.rated(away, bundle)
    order = lease.claim_match(contest.conn, match_id, "w1")
    assert order is not None
    for attempt, worker in ((order.attempt - 1, "w1"), (order.attempt, "w2")):
        assert not remote_agents.void_for_unreachable_agents(
            contest.conn, match_id, attempt, worker, {0: AWAY}
        )
    for seats in ({1: AWAY}, {0: AWAY, 1: AWAY}, {7: AWAY}, {}):
        with pytest.raises(lease.ProtocolError, match="only remote seats"):
            remote_agents.void_for_unreachable_agents(
                contest.conn, match_id, order.attempt, "w1", seats
            )
    assert history.get_match(contest.conn, match_id).state is MatchState.RUNNING
    trial = contest.validation(entered(contest))
    tried = lease.claim_match(contest.conn, trial, "w1")
    assert tried is not None
    with pytest.raises(lease.ProtocolError, match="an unreachable agent loses it"):
        remote_agents.void_for_unreachable_agents(
            contest.conn, trial, tried.attempt, "w1", {0: AWAY}
        )


def test_the_workers_role_may_only_report_absence(contest: Contest, conn: Connection) -> None:
    away, there = active(contest), active(contest)
    match_id = contest.rated(away, there)
    order = lease.claim_match(conn, match_id, "w1")
    assert order is not None
    conn.execute("set role peck_worker")
    try:
        assert remote_agents.void_for_unreachable_agents(
            conn, match_id, order.attempt, "w1", {0: AWAY}
        )
        for forbidden in (
            f"remote_strike('{away}', 'x')",
            f"remote_count_answers('{match_id}', '[]')",
        ):
            with pytest.raises(InsufficientPrivilege), conn.transaction():
                conn.execute(f"select {forbidden}")
    finally:
        conn.execute("reset role")


def test_the_third_strike_pauses_an_entry(
    contest: Contest,
) -> None:
    away, there = active(contest), active(contest)
    play(contest, contest.rated(away, there))
    revision = leaderboard.read_board(contest.conn, contest.season.id).revision
    be_away(contest, away, there, times=2)
    assert state(contest, away) is EntryState.ACTIVE
    be_away(contest, away, there)
    found = entries.get_entry(contest.conn, away)
    assert found.state is EntryState.PAUSED
    assert found.reason == f"three strikes; the last: {AWAY}"
    assert found.paused_at is not None
    assert 590 < wait_seconds(contest, away) <= 600
    board = leaderboard.read_board(contest.conn, contest.season.id)
    assert board.revision > revision
    rows = {row.entry_id: (row.remote, row.paused) for row in board.rows}
    assert rows == {away: (True, True), there: (True, False)}
    assert [
        each.entry_id for each in candidates.pairing_candidates(contest.conn, contest.season.id)
    ] == [there]
    with pytest.raises(Conflict, match="active entries"):
        contest.rated(away, there)


def test_a_match_queued_before_the_third_strike_is_void_without_a_strike(contest: Contest) -> None:
    away, there = active(contest), contest.active()
    waiting = contest.rated(away, there)
    be_away(contest, away, there, times=3)
    assert state(contest, away) is EntryState.PAUSED
    until = wait_seconds(contest, away)
    order = lease.claim_match(contest.conn, waiting, "w1")
    assert order is not None
    assert order.excused_seats == {0}
    assert remote_agents.void_for_unreachable_agents(
        contest.conn, waiting, order.attempt, "w1", {0: AWAY}
    )
    assert wait_seconds(contest, away) <= until
