"""Paused entries of remote agents: tries, retirement and reinstatement."""

from __future__ import annotations

from datetime import timedelta

import pytest

from ladder.database.db import Connection
from ladder.entries import entries, remote_agents
from ladder.entries.records import EntryState
from ladder.enums import MatchState
from ladder.errors import Conflict, LimitReached, NotFound
from ladder.ids import EntryId
from ladder.leagues import seasons
from ladder.matches import history, lease, workers
from ladder.moderation import disqualifications
from tests.integration.ladder.contest import Contest, hello, make_contest
from tests.integration.ladder.remote_contest import (
    AWAY,
    active,
    be_away,
    earlier,
    judge,
    lose_unanswered,
    paused,
    play,
    state,
    wait_seconds,
)
from tests.integration.ladder.remote_contest import conn as conn
from tests.integration.ladder.remote_contest import contest as contest


def test_a_paused_entry_plays_again_after_growing_waits(contest: Contest) -> None:
    entry = paused(contest)
    since = entries.get_entry(contest.conn, entry).activated_at
    assert 590 < wait_seconds(contest, entry) <= 600
    for hours in (1.0, 6.0, 24.0, 24.0):
        assert remote_agents.retry_due_entries(contest.conn) == []
        contest.conn.execute("update entries set next_try_at = now() where id = %s", (entry,))
        assert remote_agents.retry_due_entries(contest.conn) == [entry]
        found = entries.get_entry(contest.conn, entry)
        assert (found.state, found.strikes) == (EntryState.ACTIVE, 3)
        assert (found.paused_at, found.next_try_at, found.activated_at) == (None, None, since)
        lose_unanswered(contest, entry, contest.entries[0])
        found = entries.get_entry(contest.conn, entry)
        assert (found.state, found.strikes, found.faults > 0) == (EntryState.PAUSED, 3, True)
        assert hours * 3600 - 10 < wait_seconds(contest, entry) <= hours * 3600
    earlier(contest, entry, days=8)
    assert remote_agents.retry_due_entries(contest.conn) == [entry]
    assert state(contest, entry) is EntryState.ACTIVE


def test_ten_answered_matches_allow_one_more_void_match(contest: Contest) -> None:
    entry = paused(contest)
    remote_agents.retry_paused_entry(contest.conn, entry)
    judge(contest, entry)
    for _ in range(10):
        play(contest, contest.rated(entry, contest.entries[0]))
    assert entries.get_entry(contest.conn, entry).strikes == 2
    be_away(contest, entry, contest.entries[0])
    assert (state(contest, entry), round(wait_seconds(contest, entry), -1)) == (
        EntryState.PAUSED,
        600,
    )


def test_each_void_match_in_flight_costs_ten_answers(contest: Contest) -> None:
    entry, other = active(contest), contest.active()
    orders = [lease.claim_match(contest.conn, contest.rated(entry, other), "w1") for _ in range(3)]
    for order in orders:
        assert order is not None
        remote_agents.void_for_unreachable_agents(
            contest.conn, order.match_id, order.attempt, "w1", {0: AWAY}
        )
    assert entries.get_entry(contest.conn, entry).strikes == 1
    for _ in range(29):
        play(contest, contest.rated(entry, other))
    assert entries.get_entry(contest.conn, entry).strikes == 1
    play(contest, contest.rated(entry, other))
    assert entries.get_entry(contest.conn, entry).strikes == 0


def test_a_passed_try_reactivates_a_paused_entry(contest: Contest) -> None:
    entry = paused(contest)
    since = entries.get_entry(contest.conn, entry).activated_at
    remote_agents.retry_paused_entry(contest.conn, entry)
    with pytest.raises(Conflict, match="wait for the end of the running try"):
        remote_agents.retry_paused_entry(contest.conn, entry)
    judge(contest, entry)
    found = entries.get_entry(contest.conn, entry)
    assert (found.state, found.strikes) == (EntryState.ACTIVE, 3)
    assert found.reason == "after three strikes an unanswered match is a loss"
    assert (found.paused_at, found.next_try_at, found.deadline_at) == (None, None, None)
    assert found.activated_at == since
    with pytest.raises(Conflict, match="only a paused entry"):
        remote_agents.retry_paused_entry(contest.conn, entry)


def test_an_owner_may_not_try_again_within_a_minute(contest: Contest) -> None:
    entry = paused(contest)
    remote_agents.retry_paused_entry(contest.conn, entry)
    judge(contest, entry, "ERROR")
    assert 590 < wait_seconds(contest, entry) <= 600  # the owner's tries do not count
    with pytest.raises(LimitReached, match=r"less than a minute ago; .* from .*:\d\d UTC on$"):
        remote_agents.retry_paused_entry(contest.conn, entry)


@pytest.mark.parametrize("is_played", [True, False])
def test_failed_tries_do_not_lengthen_a_pause(
    contest: Contest, monkeypatch: pytest.MonkeyPatch, is_played: bool
) -> None:
    monkeypatch.setattr(remote_agents, "LEAST_BETWEEN_TRIES", timedelta(0))
    entry = paused(contest)
    for _ in range(2):
        earlier(contest, entry, minutes=4)
        remote_agents.retry_paused_entry(contest.conn, entry)
        if is_played:
            judge(contest, entry, "ERROR")
        else:
            contest.conn.execute("update entries set deadline_at = now() where id = %s", (entry,))
            assert remote_agents.retry_due_entries(contest.conn) == [entry]
    assert 100 < wait_seconds(contest, entry) <= 120
    earlier(contest, entry, minutes=2)
    assert remote_agents.retry_due_entries(contest.conn) == [entry]
    assert state(contest, entry) is EntryState.ACTIVE


def test_a_paused_entry_stays_after_the_season(contest: Contest) -> None:
    entry = paused(contest)
    seasons.set_season_state(contest.conn, contest.season.id, "finished")
    earlier(contest, entry, days=8)
    assert remote_agents.retry_due_entries(contest.conn) == [entry]
    assert remote_agents.retry_due_entries(contest.conn) == []
    assert state(contest, entry) is EntryState.PAUSED
    for act in (remote_agents.retry_paused_entry, entries.retire_entry):
        with pytest.raises(Conflict, match="season is"):
            act(contest.conn, entry)


def test_a_paused_entry_may_be_retired_or_disqualified(contest: Contest) -> None:
    first, second = paused(contest), paused(contest)
    remote_agents.retry_paused_entry(contest.conn, first)
    trial = contest.validation(first)
    assert entries.retire_entry(contest.conn, first).state is EntryState.RETIRED
    assert history.get_match(contest.conn, trial).state is MatchState.VOID
    remote_agents.retry_paused_entry(contest.conn, second)
    disqualifications.disqualify(contest.conn, contest.season.id, second, by=None, reason="cheated")
    assert state(contest, second) is EntryState.RETIRED
    assert remote_agents.retry_due_entries(contest.conn) == []
    disqualifications.reinstate(
        contest.conn, contest.season.id, second, by=None, reason="it had not"
    )
    assert state(contest, second) is EntryState.PAUSED
    assert remote_agents.retry_due_entries(contest.conn) == [second]
    assert state(contest, second) is EntryState.ACTIVE


def test_a_newer_submission_replaces_a_paused_entry(conn: Connection) -> None:
    contest = make_contest(conn, seats=2, remote_agents=True, active_limit=1)
    workers.register_worker(conn, hello("w1", profiles=("numpy", "remote")))
    agent = contest.agent()
    old = paused(contest, agent)
    new = active(contest, agent)
    assert (state(contest, old), state(contest, new)) == (EntryState.RETIRED, EntryState.ACTIVE)
    found = entries.get_entry(conn, old)
    assert found.reason == "newer submissions of its agent play instead"
    assert (found.pause_cause, found.next_try_at, found.paused_at) == (None, None, None)


def test_paused_entries_count_in_the_limit_of_a_team(conn: Connection) -> None:
    contest = make_contest(conn, seats=2, remote_agents=True, team_active_limit=2)
    workers.register_worker(conn, hello("w1", profiles=("numpy", "remote")))
    _, team = contest.team()
    old = paused(contest, contest.agent(team))
    newer = [active(contest, contest.agent(team)) for _ in range(2)]
    assert [state(contest, each) for each in (old, *newer)] == [
        EntryState.RETIRED,
        EntryState.ACTIVE,
        EntryState.ACTIVE,
    ]
    outcome = conn.execute("select outcome from pauses where entry_id = %s", (old,)).fetchone()
    assert outcome == ("retired",)


def test_resuming_an_unknown_entry_is_refused(conn: Connection) -> None:
    with pytest.raises(NotFound):
        remote_agents.retry_paused_entry(conn, EntryId("ent_0"))
