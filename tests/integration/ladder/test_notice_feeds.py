"""Atom feeds in a real database, read by an XML parser."""

from __future__ import annotations

from datetime import UTC, datetime
from xml.etree import ElementTree

import pytest

from ladder.entries import entries
from ladder.enums import LeagueRole, Visibility
from ladder.errors import NotFound
from ladder.leagues import leagues, seasons
from ladder.notices import inbox
from ladder.notices.kinds import Notice, NoticeKind
from ladder.people.records import STRANGER, Viewer
from services.web.atom_feeds import write_feed
from tests.integration.ladder.contest import Contest
from tests.integration.ladder.test_notices import owner

SITE = "https://ladder.example.org"
NAME = "{http://www.w3.org/2005/Atom}"


def test_public_feeds_hide_private_leagues_and_private_events(contest: Contest) -> None:
    entry = contest.active()
    agent = entries.get_entry(contest.conn, entry).agent_id
    failed = contest.pending(agent)
    validation = contest.validation(failed)
    contest.play(validation, [1] * 4, ["ERROR", "DONE", "DONE", "DONE"])
    seasons.record_openings(contest.conn)
    conn, league = contest.conn, contest.league.id
    (shown,) = inbox.public_events(conn, STRANGER, agent_id=agent)
    assert shown.kind is NoticeKind.VALIDATION_PASSED
    kinds = [one.kind for one in inbox.public_events(conn, STRANGER, league_id=league)]
    assert kinds == [NoticeKind.SEASON_OPENED, NoticeKind.VALIDATION_PASSED]
    leagues.update_league(conn, league, visibility=Visibility.PRIVATE)
    assert inbox.public_events(conn, STRANGER, agent_id=agent) == []
    member = Viewer(roles={league: LeagueRole.VIEWER})
    assert len(inbox.public_events(conn, member, league_id=league)) == 2


def test_a_private_feed_shows_its_person_alone_until_it_is_revoked(contest: Contest) -> None:
    mine, other = contest.active(), contest.active()
    agent = entries.get_entry(contest.conn, mine).agent_id
    me = owner(contest, mine)
    made = inbox.create_feed(contest.conn, me, SITE)
    narrow = inbox.create_feed(
        contest.conn, me, SITE, agent_id=entries.get_entry(contest.conn, other).agent_id
    )
    secret, narrow_secret = (feed.address[len(f"{SITE}/feeds/") : -5] for feed in (made, narrow))
    _, found = inbox.read_private_feed(contest.conn, secret)
    assert [one.subject["agent_id"] for one in found] == [agent]
    shown, found_narrow = inbox.read_private_feed(contest.conn, narrow_secret)
    assert (shown.id, found_narrow) == (narrow.id, [])
    stored = contest.conn.execute("select hash from notice_feeds where id = %s", (made.id,))
    assert secret.encode() not in bytes((stored.fetchone() or [b""])[0])
    with pytest.raises(NotFound):
        inbox.revoke_feed(contest.conn, owner(contest, other), made.id)
    contest.conn.execute(
        "insert into user_blocks (user_id, reason, by_user) values (%s, 'spam', %s)",
        (me, contest.host),
    )
    with pytest.raises(NotFound):
        inbox.read_private_feed(contest.conn, secret)
    assert inbox.list_notices(contest.conn, me) == []
    contest.conn.execute("delete from user_blocks")
    assert inbox.read_private_feed(contest.conn, secret)[1] == found
    inbox.revoke_feed(contest.conn, me, made.id)
    with pytest.raises(NotFound):
        inbox.read_private_feed(contest.conn, secret)


def test_names_cannot_break_the_xml() -> None:
    at = datetime(2026, 1, 2, tzinfo=UTC)
    title = "]]><script>&amp;\x00\x1b[31m\ud800"
    notice = Notice(
        "nev_1", NoticeKind.MEDAL_SEALED, title, "text", "/a",
        None, {}, at, None,
    )  # fmt: skip
    parsed = ElementTree.fromstring(
        write_feed(title, "age_1", "https://ladder.example.org", [notice])
    )
    entry = parsed.find(f"{NAME}entry")
    assert entry is not None
    assert "<script>&amp;" in (entry.findtext(f"{NAME}title") or "")
    assert entry.findtext(f"{NAME}id") == "tag:ladder.example.org,2026:nev_1"
    assert parsed.findtext(f"{NAME}updated") == "2026-01-02T00:00:00Z"
