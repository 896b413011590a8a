"""Blocks of people pause the entries of their teams."""

from __future__ import annotations

import pytest

from ladder.database.db import Connection
from ladder.entries import blocked_accounts, entries, remote_agents
from ladder.entries.records import PauseCause
from ladder.errors import Conflict
from ladder.ids import EntryId
from ladder.matches import workers
from ladder.moderation import disqualifications
from ladder.scrims import scrims
from ladder.scrims.scrims import Asker
from tests.integration.ladder import remote_contest
from tests.integration.ladder.contest import Contest, hello, make_contest
from tests.integration.ladder.test_machines import rows_read


def test_a_round_reads_no_teams_while_nobody_is_blocked(contest: Contest) -> None:
    conn, entry = contest.conn, contest.active()
    with conn.transaction():
        conn.execute(
            "insert into users select (jsonb_populate_record(u, jsonb_build_object("
            "'id', 'usr_' || n, 'name', 'n' || n, 'look_alike', 'n' || n))).*"
            " from users u, generate_series(1, 2000) as n where u.id = %s",
            (contest.host,),
        )
        conn.execute(
            "insert into memberships (team_id, user_id) select e.team_id, 'usr_' || n"
            " from entries e, generate_series(1, 2000) as n where e.id = %s",
            (entry,),
        )
    conn.execute("analyze memberships")
    with conn.transaction():
        before = rows_read(conn, "memberships") + rows_read(conn, "entries")
        assert blocked_accounts.pause_and_resume_entries(conn) == []
        assert rows_read(conn, "memberships") + rows_read(conn, "entries") - before < 50


def test_an_entry_is_paused_and_resumed_with_its_team(contest: Contest) -> None:
    conn, (entry, other) = contest.conn, (contest.active(), contest.active())
    block_team(contest, entry)
    assert blocked_accounts.pause_and_resume_entries(conn) == []
    paused = entries.get_entry(conn, entry)
    assert (paused.state, paused.pause_cause) == ("paused", PauseCause.TEAM_BLOCKED)
    unblock(contest)
    found = [entries.get_entry(conn, one) for one in (entry, other)]
    assert [(one.state, one.pause_cause) for one in found] == [("active", None)] * 2


def test_an_entry_is_resumed_whatever_its_reason_says(contest: Contest) -> None:
    entry = contest.active()
    block_team(contest, entry)
    contest.conn.execute("update entries set reason = 'in other words'")
    unblock(contest)
    assert entries.get_entry(contest.conn, entry).state == "active"


def test_an_entry_of_a_blocked_team_is_not_tried(contest: Contest) -> None:
    entry = contest.active()
    block_team(contest, entry)
    with pytest.raises(Conflict, match="all people of its team are blocked"):
        remote_agents.retry_paused_entry(contest.conn, entry)
    contest.conn.execute("update entries set next_try_at = now()")
    assert remote_agents.retry_due_entries(contest.conn) == []


def test_an_unreachable_entry_is_not_resumed_by_the_end_of_a_block(conn: Connection) -> None:
    contest = make_contest(conn, seats=2, remote_agents=True)
    workers.register_worker(conn, hello("w1", profiles=("numpy", "remote")))
    entry = remote_contest.paused(contest)
    contest.conn.execute("update entries set reason = %s", (blocked_accounts.REASON,))
    assert blocked_accounts.pause_and_resume_entries(conn) == []
    assert entries.get_entry(conn, entry).pause_cause is PauseCause.UNREACHABLE


def test_a_reinstated_entry_of_a_team_that_was_blocked_is_active(contest: Contest) -> None:
    conn, entry, season = contest.conn, contest.active(), contest.season.id
    block_team(contest, entry)
    disqualifications.disqualify(conn, season, entry, by=None, reason="spam")
    out = entries.get_entry(conn, entry)
    assert (out.state, out.pause_cause) == ("retired", None)
    unblock(contest)
    disqualifications.reinstate(conn, season, entry, by=None, reason="it was none")
    assert entries.get_entry(conn, entry).state == "active"


def test_a_scrim_with_an_entry_of_a_blocked_team_is_refused(contest: Contest) -> None:
    user, team = contest.team()
    own, blocked = contest.active(contest.agent(team)), contest.active()
    block_team(contest, blocked)
    lineup = [entries.get_entry(contest.conn, one).submission_id for one in [own, *[blocked] * 3]]
    contest.open_for_scrims(entries.get_entry(contest.conn, blocked).agent_id)
    with pytest.raises(Conflict, match="it is paused by an administrator"):
        scrims.request_scrim(
            contest.conn,
            Asker(contest.season, team, user),
            lineup,
            games=1,
        )


def block_team(contest: Contest, entry: EntryId) -> None:
    """Blocks all people of the entry's team, which pauses the entry."""
    contest.conn.execute(
        "insert into user_blocks (user_id, reason) select m.user_id, 'spam' from memberships m"
        " join entries e on e.team_id = m.team_id where e.id = %s",
        (entry,),
    )
    assert blocked_accounts.pause_and_resume_entries(contest.conn) == [entry]


def unblock(contest: Contest) -> None:
    contest.conn.execute("delete from user_blocks")
    blocked_accounts.pause_and_resume_entries(contest.conn)
