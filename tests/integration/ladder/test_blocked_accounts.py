"""Blocks of people in a real database: how much the job reads that applies them."""

from __future__ import annotations

from ladder.entries import blocked_accounts, entries
from tests.integration.ladder.contest import Contest
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
    conn.execute(
        "insert into user_blocks (user_id, reason) select m.user_id, 'spam' from memberships m"
        " join entries e on e.team_id = m.team_id where e.id = %s",
        (entry,),
    )
    assert blocked_accounts.pause_and_resume_entries(conn) == [entry]
    assert blocked_accounts.pause_and_resume_entries(conn) == []
    assert entries.get_entry(conn, entry).state == "paused"
    conn.execute("delete from user_blocks")
    assert blocked_accounts.pause_and_resume_entries(conn) == [entry]
    assert {entries.get_entry(conn, one).state for one in (entry, other)} == {"active"}
