"""The feed in a real database."""

from __future__ import annotations

import pytest

from ladder.database.db import Connection
from ladder.entries import entries
from ladder.enums import LeagueRole, Visibility
from ladder.ids import EntryId
from ladder.leagues import leagues, sealed_medals, seasons
from ladder.leagues.medals import Medal, MedalRules
from ladder.leagues.medals import MedalRuleKind as RuleKind
from ladder.people import audit_log
from ladder.people.records import Viewer
from ladder.ratings import live_ratings
from ladder.ratings.medal_sealing_rule import STANDINGS_THAT_MUST_AGREE
from ladder.reports import feed
from ladder.reports.feed import FeedItemKind
from tests.integration.ladder.contest import Contest, make_contest
from tests.integration.ladder.test_fitting import play, refit

ONE_EACH = MedalRules(RuleKind.COUNTS, gold=1, silver=1, bronze=1)
MEDALS = {FeedItemKind.SEALED, FeedItemKind.UNSEALED, FeedItemKind.AWARDED}


def rate(contest: Contest) -> None:
    while live_ratings.rate_season(contest.conn, contest.season.id):
        pass


def owner(contest: Contest, *entry_ids: EntryId) -> Viewer:
    """A person who is in the teams of these entries."""
    found = (entries.get_entry(contest.conn, entry_id).team_id for entry_id in entry_ids)
    return Viewer(team_ids=frozenset(found))


def test_the_feed_lists_every_event_of_a_team_once(contest: Contest) -> None:
    a, *others = (contest.active() for _ in range(4))
    conn, team = contest.conn, owner(contest, a)
    match_id = contest.rated(a, *others)
    contest.play(match_id, [2, 1, 3, 4], ["TIMEOUT", "DONE", "DONE", "DONE"])
    rate(contest)
    failed = contest.pending(entries.get_entry(conn, a).agent_id)
    validation = contest.validation(failed)
    contest.play(validation, [1] * 4, ["ERROR", "DONE", "DONE", "DONE"])
    found = feed.latest_items(conn, team)
    assert [item.kind for item in found] == [
        FeedItemKind.FAILED,
        FeedItemKind.RATED,
        FeedItemKind.PASSED,
    ]
    refused, rated, passed = found
    assert "it broke" in (refused.reason or "")
    assert (rated.match_id, rated.placement, rated.seats, rated.verdict) == (
        match_id,
        2,
        4,
        "TIMEOUT",
    )
    assert (rated.mu_after or 0) < (rated.mu_before or 0)
    assert (passed.entry_id, passed.reason) == (a, None)
    assert feed.latest_items(conn, Viewer()) == []


def test_pages_hold_every_item_once(contest: Contest, monkeypatch: pytest.MonkeyPatch) -> None:
    four = [contest.active() for _ in range(4)]
    conn, teams = contest.conn, owner(contest, *four[:2])
    for _ in range(5):
        contest.play(contest.rated(*four), [1, 2, 3, 4])
    rate(contest)
    whole = feed.latest_items(conn, teams)
    assert len(whole) == 2 + 5 * 2
    paged: list[feed.FeedItem] = []
    while page := feed.latest_items(conn, teams, before=paged[-1].key if paged else None, limit=5):
        paged += page
    assert paged == whole
    monkeypatch.setattr(feed, "SETTLE_SECONDS", 3600.0)
    assert feed.items_after(conn, teams, whole[-1].key, 100) == [], "they have not settled yet"
    monkeypatch.setattr(feed, "SETTLE_SECONDS", 0.0)
    followed: list[feed.FeedItem] = []
    while page := feed.items_after(conn, teams, followed[-1].key if followed else "1000000000.", 5):
        followed += page
    assert followed == whole[::-1]
    assert feed.items_after(conn, teams, feed.current_key(conn), 5) == []


def test_a_withdrawn_result_appears_as_a_correction(contest: Contest) -> None:
    a, *others = (contest.active() for _ in range(4))
    first = contest.rated(a, *others)
    contest.play(first, [1, 2, 3, 4])
    rate(contest)
    contest.play(contest.rated(a, *others, rejudges=first), [4, 3, 2, 1])
    rate(contest)
    kinds = [item.kind for item in feed.latest_items(contest.conn, owner(contest, a))]
    assert sorted(kinds) == ["corrected", "passed", "rated", "rated"]


def test_a_correction_names_the_withdrawn_result_of_its_reader(contest: Contest) -> None:
    field = [contest.active() for _ in range(8)]
    lineups = field[:4], field[4:]
    lost = [contest.rated(*lineup) for lineup in lineups]
    for match_id in lost:
        contest.play(match_id, [1, 2, 3, 4])
    rate(contest)
    for match_id, lineup in zip(lost, lineups, strict=True):
        contest.play(contest.rated(*lineup, rejudges=match_id), [2, 1, 3, 4])
    rate(contest)
    for match_id, entry in zip(lost, (field[0], field[4]), strict=True):
        told = feed.latest_items(contest.conn, owner(contest, entry))
        assert [item.match_id for item in told if item.kind == "corrected"] == [match_id]


def test_a_former_member_reads_no_results_of_a_private_league(
    contest: Contest, monkeypatch: pytest.MonkeyPatch
) -> None:
    four = [contest.active() for _ in range(4)]
    conn, league = contest.conn, contest.league.id
    contest.play(contest.rated(*four), [1, 2, 3, 4])
    rate(contest)
    leagues.update_league(conn, league, visibility=Visibility.PRIVATE)
    teams = owner(contest, four[0]).team_ids
    member = Viewer(team_ids=teams, roles={league: LeagueRole.COMPETITOR})
    assert [item.kind for item in feed.latest_items(conn, member)] == [
        FeedItemKind.RATED,
        FeedItemKind.PASSED,
    ]
    left = Viewer(team_ids=teams)
    assert [item.kind for item in feed.latest_items(conn, left)] == [FeedItemKind.PASSED]
    monkeypatch.setattr(feed, "SETTLE_SECONDS", 0.0)
    assert [item.kind for item in feed.items_after(conn, left, "1000000000.", 9)] == [
        FeedItemKind.PASSED
    ]


def medals(contest: Contest, who: Viewer) -> list[tuple[FeedItemKind, Medal | None]]:
    """The medal events on pages of three items."""
    found: list[feed.FeedItem] = []
    while page := feed.latest_items(
        contest.conn, who, before=found[-1].key if found else None, limit=3
    ):
        found += page
    return [(item.kind, item.medal) for item in found if item.kind in MEDALS]


def test_the_feed_shows_sealed_and_unsealed_medals(conn: Connection) -> None:
    contest = make_contest(conn, medals=ONE_EACH, medal_confidence=0.8)
    four = [contest.active() for _ in range(4)]
    for games in (
        60,
        *[5] * (STANDINGS_THAT_MUST_AGREE - 1),
    ):  # as many standings as a seal needs
        refit(contest)
        play(contest, four, games, seed=3)
    seasons.set_season_state(conn, contest.season.id, "locked")
    refit(contest)
    seals = sealed_medals.list_sealed_medals(conn, contest.season.id)
    golden = next(seal for seal in seals if seal.medal == Medal.GOLD)
    who = Viewer(team_ids=frozenset({golden.team_id}))
    assert medals(contest, who) == [(FeedItemKind.SEALED, Medal.GOLD)]
    act = audit_log.record_audit(
        conn,
        contest.league.id,
        by=contest.host,
        act="rejudge",
        subject=contest.season.id,
        reason="a broken node",
        season_id=contest.season.id,
    )
    sealed_medals.unseal_medals(conn, contest.season.id, golden.team_id, act)
    assert medals(contest, who) == [
        (FeedItemKind.UNSEALED, Medal.GOLD),
        (FeedItemKind.SEALED, Medal.GOLD),
    ]


def test_the_feed_shows_medals_awarded_by_the_final_standing(
    conn: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    contest = make_contest(conn, medals=ONE_EACH, medal_confidence=0.99)
    four = [contest.active() for _ in range(4)]
    play(contest, four, 1)
    refit(contest)
    who = owner(contest, *four)
    assert medals(contest, who) == []
    seasons.set_season_state(conn, contest.season.id, "finished")
    refit(contest)
    given = sorted((FeedItemKind.AWARDED, medal) for medal in Medal)
    assert sorted(medals(contest, who)) == given
    monkeypatch.setattr(feed, "SETTLE_SECONDS", 0.0)
    followed: list[feed.FeedItem] = []
    while page := feed.items_after(conn, who, followed[-1].key if followed else "1000000000.", 3):
        followed += page
    assert sorted((item.kind, item.medal) for item in followed if item.kind in MEDALS) == given
    whole = feed.latest_items(conn, who)
    assert followed == whole[::-1]
    assert {item.kind for item in whole} == {
        FeedItemKind.PASSED,
        FeedItemKind.RATED,
        FeedItemKind.AWARDED,
    }
