"""Events in a real database: who is told, and what the acts of the contest tell."""

from __future__ import annotations

import pytest

from ladder.database.db import Connection
from ladder.entries import entries
from ladder.enums import LeagueRole, Visibility
from ladder.ids import EntryId, NoticeId, UserId, is_id
from ladder.leagues import invitations, leagues, medals, seasons, terms
from ladder.moderation import disqualifications
from ladder.notices import inbox
from ladder.notices.kinds import KINDS, WORDS, EventSubject, Form, NoticeKind, record_event
from ladder.people import audit_log, users
from ladder.ratings.medal_sealing import STANDINGS_THAT_MUST_AGREE
from ladder.standings import medal_notices
from ladder.standings.leaderboard import read_board
from tests.integration.ladder.contest import Contest, make_contest
from tests.integration.ladder.test_feed import ONE_EACH
from tests.integration.ladder.test_fitting import play, refit

GATHERED = {NoticeKind.MEMBER_JOINED, NoticeKind.JOIN_REQUESTED, NoticeKind.SEASON_ALARM}
FAULTY = ["TIMEOUT", "DONE", "DONE", "DONE"]


def owner(contest: Contest, entry_id: EntryId) -> UserId:
    """The person whose team entered."""
    row = contest.conn.execute(
        "select m.user_id from entries e join memberships m on m.team_id = e.team_id"
        " where e.id = %s",
        (entry_id,),
    ).fetchone()
    assert row is not None
    return UserId(row[0])


def kinds(contest: Contest, user_id: UserId) -> list[NoticeKind]:
    """The kinds of a person's notices, oldest first."""
    return [one.kind for one in inbox.list_notices(contest.conn, user_id)][::-1]


def test_every_kind_has_words_and_a_row(conn: Connection) -> None:
    rows = conn.execute(
        "select kind, gathers_in, default_forms, topic from notice_kinds"
    ).fetchall()
    assert {row[0] for row in rows} == {kind.value for kind in NoticeKind}
    assert {row[0] for row in rows if row[1]} == GATHERED
    assert set(WORDS) == set(NoticeKind) - GATHERED
    assert {form for row in rows for form in row[2]} <= {form.value for form in Form}
    topics = {row[0]: row[3] for row in rows if row[0] not in GATHERED}
    assert topics == {kind: topic for topic, kinds in KINDS.items() for kind in kinds}


def test_ids_ascend_within_a_statement_and_when_the_clock_goes_back(conn: Connection) -> None:
    make = "select notices_new_id('not') from generate_series(1, 2000)"
    made = [row[0] for row in conn.execute(make)]
    hour_us = 3_600_000_000
    conn.execute(
        "select set_config('notices.last_us',"
        " (current_setting('notices.last_us')::bigint + %s)::text, false)",
        (hour_us,),
    )
    made += [row[0] for row in conn.execute(make)]
    assert made == sorted(set(made))
    assert all(is_id(one, "not") for one in made)


def test_a_team_is_told_how_its_validation_ended(contest: Contest) -> None:
    entry = contest.active()
    mine = owner(contest, entry)
    agent = entries.get_entry(contest.conn, entry).agent_id
    failed = contest.pending(agent)
    validation = contest.validation(failed)
    contest.play(validation, [1] * 4, ["ERROR", "DONE", "DONE", "DONE"])
    newest, oldest = inbox.list_notices(contest.conn, mine)
    assert oldest.kind is NoticeKind.VALIDATION_PASSED
    assert newest.kind is NoticeKind.VALIDATION_FAILED
    assert "it broke" in newest.text
    assert newest.path == f"/agents/{agent}?entry={failed}"
    assert inbox.count_unread(contest.conn, mine) == 2
    assert inbox.mark_read(contest.conn, mine, NoticeId(oldest.id)) == 1
    assert inbox.count_unread(contest.conn, mine) == 1


@pytest.mark.parametrize("of", ["entry", "agent", "team"])
def test_team_gets_notices_of_its_disqualification_and_reinstatement(
    contest: Contest, of: str
) -> None:
    entry = contest.active()
    mine = owner(contest, entry)
    found = entries.get_entry(contest.conn, entry)
    subject = {"entry": entry, "agent": found.agent_id, "team": found.team_id}[of]
    season, by = contest.season.id, contest.host
    disqualifications.disqualify(contest.conn, season, subject, by=by, reason="it colludes")
    newest = inbox.list_notices(contest.conn, mine)[0]
    assert newest.kind is NoticeKind.AGENT_DISQUALIFIED
    assert newest.text.endswith("its results do not count. The reason: it colludes.")
    assert newest.path == f"/agents/{found.agent_id}?entry={entry}"
    disqualifications.reinstate(contest.conn, season, subject, by=by, reason="it did not")
    newest, before = inbox.list_notices(contest.conn, mine)[:2]
    assert newest.kind is NoticeKind.AGENT_REINSTATED
    assert "its results count again" in newest.text
    assert before.kind is NoticeKind.AGENT_DISQUALIFIED


def test_notice_of_a_disqualified_team_omits_the_reason_of_a_rejection(
    contest: Contest,
) -> None:
    entry = contest.pending()
    contest.play(contest.validation(entry), [1] * 4, ["ERROR", "DONE", "DONE", "DONE"])
    found = entries.get_entry(contest.conn, entry)
    mine = owner(contest, entry)
    disqualifications.disqualify(
        contest.conn, contest.season.id, found.team_id, by=contest.host, reason="it colludes"
    )
    newest = inbox.list_notices(contest.conn, mine)[0]
    assert newest.kind is NoticeKind.AGENT_DISQUALIFIED
    assert newest.text.endswith("its results do not count.")


def test_several_faults_in_a_row_give_one_notice(contest: Contest) -> None:
    four = [contest.active() for _ in range(4)]
    mine = owner(contest, four[0])
    for _ in range(7):
        contest.play(contest.rated(*four), [4, 1, 2, 3], FAULTY)
    assert kinds(contest, mine) == [NoticeKind.VALIDATION_PASSED, NoticeKind.FAULTS_IN_ROW]
    assert "5 matches in a row" in inbox.list_notices(contest.conn, mine)[0].title
    for verdicts in (None, *[FAULTY] * 5):
        contest.play(contest.rated(*four), [4, 1, 2, 3], verdicts)
    assert len(kinds(contest, mine)) == 2, "a second notice waits for the next day"


def test_matches_without_faults_tell_nobody(contest: Contest) -> None:
    four = [contest.active() for _ in range(4)]
    contest.play(contest.rated(*four), [1, 2, 3, 4])
    assert {kind for one in four for kind in kinds(contest, owner(contest, one))} == {
        NoticeKind.VALIDATION_PASSED
    }


def test_members_and_entrants_hear_of_the_season_once(contest: Contest) -> None:
    entrant = owner(contest, contest.active())
    for _ in range(2):
        seasons.record_openings(contest.conn)
        seasons.set_season_state(contest.conn, contest.season.id, "locked")
    seasons.set_season_state(contest.conn, contest.season.id, "finished")
    told = [NoticeKind.SEASON_OPENED, NoticeKind.SEASON_LOCKED, NoticeKind.SEASON_FINISHED]
    assert kinds(contest, entrant)[1:] == told
    assert kinds(contest, contest.host) == told


def test_hosts_get_one_digest_of_many_acts(contest: Contest) -> None:
    leagues.update_league(contest.conn, contest.league.id, visibility=Visibility.INVITATION)
    league = leagues.get_league(contest.conn, contest.league.id)
    agreed = terms.terms_digest(terms.settings_of_league(league))
    _, code = invitations.create_invitation(
        contest.conn, league.id, role=LeagueRole.VIEWER, created_by=contest.host
    )
    span = "select floor(extract(epoch from clock_timestamp()) / 600)"
    spans = set()
    for number in range(7):
        spans.add(contest.conn.execute(span).fetchone())
        person = users.create_user(contest.conn, f"joiner {number}")
        invitations.join_league(contest.conn, person.id, code, agreed)
        assert inbox.list_notices(contest.conn, person.id) == []
    digests = inbox.list_notices(contest.conn, contest.host)
    assert {one.kind for one in digests} == {NoticeKind.HOST_DIGEST}
    assert 1 <= len(digests) <= len(spans) + 1, "one for each ten minutes of the clock"
    if len(digests) == 1:
        assert digests[0].text == "7 people joined."


def test_a_person_who_left_reads_no_notices_of_the_team(contest: Contest) -> None:
    entry = contest.active()
    mine = owner(contest, entry)
    contest.conn.execute("delete from memberships where user_id = %s", (mine,))
    assert inbox.list_notices(contest.conn, mine) == []
    assert inbox.count_unread(contest.conn, mine) == 0


def test_a_rolled_back_act_tells_nobody(contest: Contest) -> None:
    about = EventSubject(user_id=contest.host, league_id=contest.league.id)
    with contest.conn.transaction(force_rollback=True):
        record_event(contest.conn, NoticeKind.JOIN_APPROVED, about)
        assert len(inbox.list_notices(contest.conn, contest.host)) == 1
    assert inbox.list_notices(contest.conn, contest.host) == []


def test_a_team_is_told_of_its_medal_once(conn: Connection) -> None:
    contest = make_contest(conn, medals=ONE_EACH, medal_confidence=0.8)
    season = contest.season.id
    four = [contest.active() for _ in range(4)]
    for games in (60, *[5] * (STANDINGS_THAT_MUST_AGREE - 1)):
        refit(contest)
        play(contest, four, games, seed=3)
        assert medal_notices.seasons_with_news(conn) in ([season], [])
        medal_notices.record_medal_changes(conn, season)
    best = next(row for row in read_board(conn, season).rows if row.rank == 1)
    winner = owner(contest, best.entry_id)
    told = [kind for kind in kinds(contest, winner) if kind.startswith("medal")]
    assert told == [NoticeKind.MEDAL_LIKELY]
    seasons.set_season_state(conn, season, "locked")
    refit(contest)
    for _ in range(2):
        medal_notices.record_medal_changes(conn, season)
    told = [kind for kind in kinds(contest, winner) if kind.startswith("medal")]
    assert told == [NoticeKind.MEDAL_LIKELY, NoticeKind.MEDAL_SEALED]
    act = audit_log.record_audit(
        conn, contest.league.id, by=None, act="rejudge", subject=season, reason="a broken node"
    )
    medals.unseal_medals(conn, season, best.team_id, act)
    conn.execute("update entries set state = 'retired' where id = %s", (best.entry_id,))
    refit(contest)
    medal_notices.record_medal_changes(conn, season)
    newest = inbox.list_notices(conn, winner)[0]
    assert newest.kind is NoticeKind.MEDAL_LOST
    assert "gold" in newest.title
    assert medal_notices.seasons_with_news(conn) == []
