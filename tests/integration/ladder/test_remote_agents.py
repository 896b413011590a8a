"""Unreachable remote agents: void matches, strikes, pauses, tries and retirement."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from psycopg.errors import InsufficientPrivilege

from ladder.database import db
from ladder.database.db import Connection
from ladder.entries import agents, deadlines, entries, remote_agents, validations
from ladder.entries.records import EntryState
from ladder.enums import MatchState
from ladder.errors import Conflict, LimitReached, NotFound
from ladder.ids import AgentId, EntryId, MatchId
from ladder.leagues import seasons
from ladder.matches import history, lease, matches, workers
from ladder.matches.records import FinishResult
from ladder.moderation import disqualifications
from ladder.people.records import Viewer
from ladder.reports import feed, season_health
from ladder.scrims import scrims
from ladder.standings import leaderboard
from tests.integration.ladder.contest import Contest, digest, hello, raise_contest
from tests.servers import cloned

AWAY = "GET / at its address: no connection"


@pytest.fixture(scope="module")
def conn(postgres_url: str, migrated_template: str) -> Iterator[Connection]:
    """One database for all tests of the file; each test has its own contest in it."""
    with cloned(postgres_url, migrated_template) as url, db.connect(url, autocommit=True) as conn:
        yield conn


@pytest.fixture
def contest(conn: Connection) -> Contest:
    # Claims choose among all matches, so what other tests left must not wait or play.
    old = conn.execute("select id from matches where state in ('queued', 'running')").fetchall()
    matches.void_matches(conn, [row[0] for row in old], "the test is over")
    made = raise_contest(conn, seats=2, remote_agents=True)
    workers.register_worker(conn, hello("w1", profiles=("numpy", "remote")))
    return made


def entered(contest: Contest, agent: AgentId | None = None, path: str = "") -> EntryId:
    """A remote submission before its validation."""
    contest.made += 1
    url = f"https://snake.example/{path or contest.made}"
    submission, _ = agents.add_submission(
        contest.conn, agent or contest.agent(), digest(url), 60, "url", "", None, url=url
    )
    return entries.enter_season(contest.conn, contest.season.id, submission.id)[0].id


def active(contest: Contest, agent: AgentId | None = None) -> EntryId:
    entry = entered(contest, agent)
    judge(contest, entry)
    assert state(contest, entry) is EntryState.ACTIVE
    return entry


def judge(contest: Contest, entry: EntryId, verdict: str = "DONE") -> None:
    """Play the validation match of the entry."""
    match_id = entries.get_entry(contest.conn, entry).validation_match_id
    assert match_id is not None
    assert play(contest, match_id, verdicts=[verdict] * 2) is FinishResult.ACCEPTED


def play(
    contest: Contest,
    match_id: MatchId,
    *,
    answered: bool = True,
    verdicts: list[str] | None = None,
) -> FinishResult:
    order = lease.claim_match(contest.conn, match_id, "w1")
    assert order is not None
    return contest.finish(match_id, order.attempt, [1, 2], verdicts, answered=answered)


def be_away(contest: Contest, entry: EntryId, other: EntryId, times: int = 1) -> MatchId:
    """Make the entry in seat 0 unreachable in that many rated matches, each after its rest."""
    for _ in range(times):
        rested(contest, entry)
        match_id = contest.rated(entry, other)
        order = lease.claim_match(contest.conn, match_id, "w1")
        assert order is not None
        assert remote_agents.void_for_unreachable_agents(
            contest.conn, match_id, order.attempt, "w1", {0: AWAY}
        )
    return match_id


def state(contest: Contest, entry: EntryId) -> EntryState:
    return entries.get_entry(contest.conn, entry).state


def earlier(contest: Contest, entry: EntryId, **span: float) -> None:
    """Move the times that the entry waits for into the past."""
    contest.conn.execute(
        "update entries set paused_at = paused_at - %(by)s, next_try_at = next_try_at - %(by)s,"
        " deadline_at = deadline_at - %(by)s where id = %(entry)s",
        {"by": timedelta(**span), "entry": entry},
    )


def rested(contest: Contest, entry: EntryId) -> None:
    """Let a minute pass since the last strike."""
    contest.conn.execute(
        "update entries set struck_at = struck_at - interval '1 minute' where id = %s", (entry,)
    )


def wait_seconds(contest: Contest, entry: EntryId) -> float:
    row = contest.conn.execute(
        "select extract(epoch from next_try_at - clock_timestamp()) from entries where id = %s",
        (entry,),
    ).fetchone()
    assert row is not None
    return float(row[0])


def test_a_remote_submission_enters_only_a_season_with_remote_agents(conn: Connection) -> None:
    contest = raise_contest(conn, seats=2)
    with pytest.raises(Conflict, match="upload a bundle: this season takes no remote agents"):
        entered(contest)


def test_a_remote_entry_has_the_profile_remote(contest: Contest) -> None:
    entry = entries.get_entry(contest.conn, entered(contest))
    assert (entry.profile, entry.remote) == ("remote", True)
    submission = agents.get_submission(contest.conn, entry.submission_id)
    with pytest.raises(Conflict, match="give a bundle"):
        entries.enter_season(
            contest.conn,
            seasons.create_season(
                contest.conn,
                contest.league.id,
                seasons.SeasonColumns(
                    configuration={},
                    configuration_digest="none",
                    clock={},
                    seats=2,
                    remote_agents=True,
                ),
            ).id,
            submission.id,
            is_anchor=True,
        )


def test_a_rejected_address_is_validated_again_after_resubmission(
    contest: Contest,
) -> None:
    agent = contest.agent()
    entry = entered(contest, agent, "k3J9")
    judge(contest, entry, "ERROR")
    assert state(contest, entry) is EntryState.REJECTED
    again = entered(contest, agent, "k3J9")
    assert again == entry
    found = entries.get_entry(contest.conn, entry)
    assert (found.state, found.reason) == (EntryState.PENDING, None)
    assert entries.upload_limits(contest.conn, contest.season.id, found.team_id).used == 2
    assert entered(contest, agent, "k3J9") == entry  # it already waits and costs nothing
    assert entries.upload_limits(contest.conn, contest.season.id, found.team_id).used == 2
    judge(contest, entry)
    assert state(contest, entry) is EntryState.ACTIVE


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
            each.entry_id for each in entries.pairing_candidates(contest.conn, contest.season.id)
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
    trial = entries.get_entry(contest.conn, entered(contest)).validation_match_id
    assert trial is not None
    tried = lease.claim_match(contest.conn, trial, "w1")
    assert tried is not None
    with pytest.raises(lease.ProtocolError, match="neither rated nor of a tournament"):
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
    revision = leaderboard.board_revision(contest.conn, contest.season.id)
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
        each.entry_id for each in entries.pairing_candidates(contest.conn, contest.season.id)
    ] == [there]
    with pytest.raises(Conflict, match="active entries"):
        contest.rated(away, there)


def paused(contest: Contest, agent: AgentId | None = None) -> EntryId:
    entry = active(contest, agent)
    be_away(contest, entry, contest.entries[0] if contest.entries else contest.active(), times=3)
    assert state(contest, entry) is EntryState.PAUSED
    return entry


def test_a_paused_entry_is_tried_at_growing_intervals(contest: Contest) -> None:
    entry = paused(contest)
    for hours in (1.0, 6.0, 24.0, 24.0):
        assert remote_agents.retry_due_entries(contest.conn) == []
        contest.conn.execute("update entries set next_try_at = now() where id = %s", (entry,))
        assert remote_agents.retry_due_entries(contest.conn) == [entry]
        assert remote_agents.retry_due_entries(contest.conn) == []  # one try at a time
        assert validations.queue_place_of(contest.conn, entry) is not None
        judge(contest, entry, "ERROR")
        found = entries.get_entry(contest.conn, entry)
        assert (found.state, found.reason) == (EntryState.PAUSED, "ERROR at step 7: it broke")
        assert hours * 3600 - 10 < wait_seconds(contest, entry) <= hours * 3600


def test_a_passed_try_reactivates_a_paused_entry(contest: Contest) -> None:
    entry = paused(contest)
    since = entries.get_entry(contest.conn, entry).activated_at
    remote_agents.retry_paused_entry(contest.conn, entry)
    with pytest.raises(Conflict, match="wait for the end of the running try"):
        remote_agents.retry_paused_entry(contest.conn, entry)
    judge(contest, entry)
    found = entries.get_entry(contest.conn, entry)
    assert (found.state, found.strikes, found.reason) == (EntryState.ACTIVE, 0, None)
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


def test_a_void_try_is_repeated(contest: Contest) -> None:
    entry = paused(contest)
    remote_agents.retry_paused_entry(contest.conn, entry)
    match_id = entries.get_entry(contest.conn, entry).validation_match_id
    assert match_id is not None
    matches.void_matches(contest.conn, [match_id], "our fault")
    assert remote_agents.retry_due_entries(contest.conn) == [entry]
    assert 590 < wait_seconds(contest, entry) <= 600
    earlier(contest, entry, minutes=11)
    assert remote_agents.retry_due_entries(contest.conn) == [entry]
    earlier(contest, entry, days=1)  # no worker played it in time
    assert remote_agents.retry_due_entries(contest.conn) == [entry]
    assert state(contest, entry) is EntryState.PAUSED
    assert wait_seconds(contest, entry) > 3000


def test_a_paused_entry_is_retired_after_seven_days(contest: Contest) -> None:
    gone, kept = paused(contest), paused(contest)
    earlier(contest, gone, days=8)
    assert remote_agents.retry_due_entries(contest.conn) == [gone]
    found = entries.get_entry(contest.conn, gone)
    assert (found.state, found.reason) == (EntryState.RETIRED, remote_agents.GIVEN_UP)
    seasons.set_season_state(contest.conn, contest.season.id, "finished")
    earlier(contest, kept, days=8)
    assert remote_agents.retry_due_entries(contest.conn) == [kept]
    assert remote_agents.retry_due_entries(contest.conn) == []
    assert state(contest, kept) is EntryState.PAUSED
    for act in (remote_agents.retry_paused_entry, entries.retire_entry):
        with pytest.raises(Conflict, match="season is"):
            act(contest.conn, kept)


def test_a_paused_entry_may_be_retired_or_disqualified(contest: Contest) -> None:
    first, second = paused(contest), paused(contest)
    remote_agents.retry_paused_entry(contest.conn, first)
    trial = entries.get_entry(contest.conn, first).validation_match_id
    assert trial is not None
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
    judge(contest, second)
    assert state(contest, second) is EntryState.ACTIVE


def test_a_newer_submission_replaces_a_paused_entry(conn: Connection) -> None:
    contest = raise_contest(conn, seats=2, remote_agents=True, active_limit=1)
    workers.register_worker(conn, hello("w1", profiles=("numpy", "remote")))
    agent = contest.agent()
    old = paused(contest, agent)
    new = active(contest, agent)
    assert state(contest, old) is EntryState.PAUSED
    remote_agents.retry_paused_entry(conn, old)
    judge(contest, old)
    assert (state(contest, old), state(contest, new)) == (EntryState.RETIRED, EntryState.ACTIVE)
    assert entries.get_entry(conn, old).reason == "newer submissions of its agent play instead"


def test_a_reinstated_paused_entry_gets_new_days_to_answer(
    contest: Contest,
) -> None:
    entry = paused(contest)
    disqualifications.disqualify(contest.conn, contest.season.id, entry, by=None, reason="cheated")
    assert entries.get_entry(contest.conn, entry).paused_at is None
    earlier(contest, entry, days=8)
    disqualifications.reinstate(
        contest.conn, contest.season.id, entry, by=None, reason="it had not"
    )
    assert remote_agents.retry_due_entries(contest.conn) == [entry]
    assert state(contest, entry) is EntryState.PAUSED
    judge(contest, entry)
    assert state(contest, entry) is EntryState.ACTIVE


def test_a_rejudged_remote_match_gets_a_new_seed(contest: Contest) -> None:
    known, bundle, other = active(contest), contest.active(), contest.active()
    for lineup, is_same in (((known, bundle), False), ((bundle, other), True)):
        old = contest.rated(*lineup)
        play(contest, old)
        new = contest.rated(*lineup, rejudges=old)
        seeds = [history.get_match(contest.conn, each).seed for each in (old, new)]
        assert (seeds[0] == seeds[1]) is is_same


def test_an_entry_paused_before_its_first_game_delays_no_seal(
    contest: Contest,
) -> None:
    entry, other = active(contest), played(contest)
    seasons.set_season_state(contest.conn, contest.season.id, "locked")
    with contest.conn.transaction():
        assert deadlines.is_waiting_for_entries(contest.conn, contest.season.id)
    be_away(contest, entry, other, times=3)
    remote_agents.retry_paused_entry(contest.conn, entry)
    judge(contest, entry)
    assert state(contest, entry) is EntryState.ACTIVE
    with contest.conn.transaction():
        assert not deadlines.is_waiting_for_entries(contest.conn, contest.season.id)


def played(contest: Contest) -> EntryId:
    """An entry of a bundle that has played."""
    entry = contest.active()
    contest.conn.execute("update entries set games = 1 where id = %s", (entry,))
    return entry


def test_the_feed_of_a_team_shows_pauses(contest: Contest) -> None:
    _, team = contest.team()
    entry = paused(contest, contest.agent(team))
    remote_agents.retry_paused_entry(contest.conn, entry)
    judge(contest, entry)
    be_away(contest, entry, contest.entries[0], times=3)
    earlier(contest, entry, days=8)
    remote_agents.retry_due_entries(contest.conn)
    items = feed.latest_items(contest.conn, Viewer(team_ids=frozenset({team})))
    told = [(item.kind.value, item.reason) for item in reversed(items)]
    assert told == [
        ("passed", None),
        ("paused", AWAY),
        ("resumed", None),
        ("paused", AWAY),
        ("given_up", remote_agents.GIVEN_UP),
    ]


def test_a_scrim_with_a_paused_agent_is_refused_with_the_reason(contest: Contest) -> None:
    user, team = contest.team()
    entry = entries.get_entry(contest.conn, paused(contest, contest.agent(team)))
    rival = entries.get_entry(contest.conn, contest.entries[0])
    contest.conn.execute("update agents set open_for_scrims = true")
    lineup = [entry.submission_id, rival.submission_id]
    with pytest.raises(
        Conflict, match=f"{entry.agent_name}: it is paused because its address did not answer"
    ):
        scrims.request_scrim(
            contest.conn,
            season=contest.season,
            team_id=team,
            user_id=user,
            lineup=lineup,
            games=1,
        )
    with pytest.raises(Conflict, match="is paused"):
        scrims.request_scrim(
            contest.conn,
            season=contest.season,
            team_id=rival.team_id,
            user_id=user,
            lineup=lineup,
            games=1,
        )
    remote_agents.retry_paused_entry(contest.conn, entry.id)
    judge(contest, entry.id)
    made = scrims.request_scrim(
        contest.conn, season=contest.season, team_id=team, user_id=user, lineup=lineup, games=1
    )
    assert made.games == 1


def test_a_season_with_paused_agents_raises_an_alarm(contest: Contest) -> None:
    entry = paused(contest)
    entries.retire_entry(contest.conn, contest.entries[0])
    contest.conn.execute(
        "update entries set last_match_at = now() - interval '1 day'; "
        "update seasons set opens_at = now() - interval '1 day'"
    )
    season = seasons.get_season(contest.conn, contest.season.id)
    alarm = season_health.read_health(contest.conn, season, contest.league).alarm
    assert alarm is not None
    assert alarm.cause is season_health.AlarmCause.AGENTS_AWAY
    assert "0 of 2 seats can be filled" in alarm.reason
    assert "1 paused" in alarm.reason
    assert state(contest, entry) is EntryState.PAUSED


def test_resuming_an_unknown_entry_is_refused(conn: Connection) -> None:
    with pytest.raises(NotFound):
        remote_agents.retry_paused_entry(conn, EntryId("ent_0"))
