"""The feed in a real database."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ladder.entries import entries
from ladder.enums import LeagueRole, Visibility
from ladder.ids import EntryId
from ladder.leagues import leagues
from ladder.leagues.medals import MedalRuleKind as RuleKind
from ladder.leagues.medals import MedalRules
from ladder.people import teams
from ladder.people.records import Viewer
from ladder.ratings import live_ratings
from ladder.reports import feed
from tests.integration.ladder.contest import Contest

ONE_EACH = MedalRules(RuleKind.COUNTS, gold=1, silver=1, bronze=1)


def rate(contest: Contest) -> None:
    while live_ratings.rate_season(contest.conn, contest.season.id):
        pass


def owner(contest: Contest, *entry_ids: EntryId) -> Viewer:
    """The owner of the first entry's team, who is in the teams of all these entries."""
    team_ids = [entries.get_entry(contest.conn, entry_id).team_id for entry_id in entry_ids]
    (first,) = teams.list_members(contest.conn, team_ids[0])
    return Viewer(first.id, team_ids=frozenset(team_ids))


def kinds(items: list[feed.FeedItem]) -> list[str]:
    return [item.kind.value for item in items]


def test_the_feed_lists_notices_and_results_once(contest: Contest) -> None:
    a, *others = (contest.active() for _ in range(4))
    conn, team = contest.conn, owner(contest, a)
    match_id = contest.rated(a, *others)
    contest.play(match_id, [2, 1, 3, 4], ["TIMEOUT", "DONE", "DONE", "DONE"])
    rate(contest)
    failed = contest.pending(entries.get_entry(conn, a).agent_id)
    validation = contest.validation(failed)
    contest.play(validation, [1] * 4, ["ERROR", "DONE", "DONE", "DONE"])
    found = feed.latest_items(conn, team)
    assert kinds(found) == ["validation_failed", "rated", "validation_passed"]
    refused, rated, passed = found
    assert "it broke" in refused.text
    assert (rated.subject["match_id"], rated.title[-14:]) == (match_id, " placed 2 of 4")
    assert rated.text.startswith("Its verdict is TIMEOUT. Its live rating changed by -")
    result = rated.result
    assert result is not None
    assert (result.placement, result.seats, result.verdict) == (2, 4, "TIMEOUT")
    assert (result.mu_after or 0) < (result.mu_before or 0)
    assert (passed.subject["entry_id"], passed.result) == (a, None)
    assert feed.latest_items(conn, Viewer()) == []


def test_pages_hold_every_item_once(contest: Contest, monkeypatch: pytest.MonkeyPatch) -> None:
    four = [contest.active() for _ in range(4)]
    conn, teams = contest.conn, owner(contest, *four[:2])
    for _ in range(5):
        contest.play(contest.rated(*four), [1, 2, 3, 4])
    rate(contest)
    whole = feed.latest_items(conn, teams)
    assert len(whole) == 1 + 5 * 2
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
    told = kinds(feed.latest_items(contest.conn, owner(contest, a)))
    assert sorted(told) == ["corrected", "rated", "rated", "validation_passed"]


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
        assert [item.subject["match_id"] for item in told if item.kind == "corrected"] == [match_id]


def test_a_former_member_reads_nothing_of_a_private_league(
    contest: Contest, monkeypatch: pytest.MonkeyPatch
) -> None:
    four = [contest.active() for _ in range(4)]
    conn, league = contest.conn, contest.league.id
    contest.play(contest.rated(*four), [1, 2, 3, 4])
    rate(contest)
    leagues.update_league(conn, league, visibility=Visibility.PRIVATE)
    left = owner(contest, four[0])
    member = replace(left, roles={league: LeagueRole.COMPETITOR})
    assert kinds(feed.latest_items(conn, member)) == ["rated"]
    assert feed.latest_items(conn, left) == []
    monkeypatch.setattr(feed, "SETTLE_SECONDS", 0.0)
    assert feed.items_after(conn, left, "1000000000.", 9) == []
