"""The feed on real rows."""

from __future__ import annotations

from ladder.ids import EntryId, TeamId
from ladder.store import entries, feed, ratings
from ladder.store.feed import Kind
from tests.integration.store.contest import Contest


def rate(contest: Contest) -> None:
    while ratings.apply(contest.conn, contest.season.id):
        pass


def team_of(contest: Contest, entry_id: EntryId) -> TeamId:
    return entries.get_entry(contest.conn, entry_id).team_id


def test_everything_that_happened_to_a_team_is_told_once_newest_first(contest: Contest) -> None:
    a, *others = (contest.active() for _ in range(4))
    conn, team = contest.conn, [team_of(contest, a)]
    match_id = contest.rated(a, *others)
    contest.play(match_id, [2, 1, 3, 4], ["TIMEOUT", "DONE", "DONE", "DONE"])
    rate(contest)
    failed = contest.pending(entries.get_entry(conn, a).agent_id)
    validation = entries.get_entry(conn, failed).validation_match_id
    assert validation is not None
    contest.play(validation, [1] * 4, ["ERROR", "DONE", "DONE", "DONE"])
    found = feed.latest(conn, team)
    assert [item.kind for item in found] == [Kind.FAILED, Kind.RATED, Kind.PASSED]
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
    assert feed.latest(conn, []) == []


def test_pages_hold_every_item_once_and_a_follower_gets_them_in_turn(contest: Contest) -> None:
    four = [contest.active() for _ in range(4)]
    conn, teams = contest.conn, [team_of(contest, entry) for entry in four[:2]]
    for _ in range(5):
        contest.play(contest.rated(*four), [1, 2, 3, 4])
    rate(contest)
    whole = feed.latest(conn, teams)
    assert len(whole) == 2 + 5 * 2
    paged: list[feed.Item] = []
    while page := feed.latest(conn, teams, before=paged[-1].key if paged else None, limit=5):
        paged += page
    assert paged == whole
    assert feed.follow(conn, teams, whole[-1].key, 100) == [], "they have not settled yet"
    conn.execute("select pg_sleep(%s)", (feed.SETTLE_SECONDS,))
    followed: list[feed.Item] = []
    while page := feed.follow(conn, teams, followed[-1].key if followed else "1000000000.", 5):
        followed += page
    assert followed == whole[::-1]
    assert feed.follow(conn, teams, feed.now(conn), 5) == []


def test_a_result_taken_back_is_told_as_a_correction(contest: Contest) -> None:
    a, *others = (contest.active() for _ in range(4))
    first = contest.rated(a, *others)
    contest.play(first, [1, 2, 3, 4])
    rate(contest)
    contest.play(contest.rated(a, *others, rejudges=first), [4, 3, 2, 1])
    rate(contest)
    kinds = [item.kind for item in feed.latest(contest.conn, [team_of(contest, a)])]
    assert sorted(kinds) == ["corrected", "passed", "rated", "rated"]
