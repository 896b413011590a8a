"""Rejudgements in a real database: the matching results, the preview, and the execution."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from ladder.database.db import Connection
from ladder.entries import entries
from ladder.enums import VoidCause
from ladder.errors import Conflict, LadderError
from ladder.ids import EntryId, MatchId
from ladder.leagues import seasons
from ladder.leagues.medals import Medal, MedalRuleKind, MedalRules, sealed_medals_of_season
from ladder.matches import history, lease, matches
from ladder.matches.records import AttemptFault, FinishResult
from ladder.moderation import rejudgements as again
from ladder.moderation.rejudgements import Predicate, preview_rejudgement
from ladder.people import audit_log
from ladder.ratings import fitting, live_ratings, standing_versions
from ladder.ratings.fitting import OfficialFitter
from ladder.ratings.medal_sealing import STANDINGS_THAT_MUST_AGREE
from ladder.standings import leaderboard
from tests.integration.ladder.contest import Contest, make_contest

FITTING = Predicate(node="node")


@pytest.fixture
def four(contest: Contest) -> list[EntryId]:
    return [contest.active() for _ in range(4)]


def play(contest: Contest, lineup: list[EntryId], games: int, seed: int = 1) -> list[MatchId]:
    """That many games in which earlier seats of the lineup mostly do better."""
    made = []
    for result in placements(games, seed):
        made.append(contest.rated(*lineup))
        contest.play(made[-1], result)
    rate(contest)
    return made


def placements(games: int, seed: int) -> list[list[int]]:
    """Results in which earlier seats mostly do better."""
    random, made = Random(seed), []
    for _ in range(games):
        order = sorted(range(4), key=lambda n: n + random.gauss(0, 1))
        made.append([order.index(n) + 1 for n in range(4)])
    return made


def rate(contest: Contest) -> None:
    while live_ratings.rate_season(contest.conn, contest.season.id):
        pass


def fits(contest: Contest, **given: object) -> list[MatchId]:
    predicate = Predicate(**given)  # type: ignore[arg-type]
    seen = preview_rejudgement(contest.conn, contest.season.id, predicate)
    return [one.match_id for one in seen.matches]


def judge(contest: Contest, predicate: Predicate = FITTING) -> again.Rejudgement:
    return again.create_rejudgement(
        contest.conn, contest.season.id, predicate, by=contest.host, reason="a bad node"
    )


def queue(contest: Contest, at_once: int = again.AT_ONCE) -> list[MatchId | None]:
    return [
        again.queue_replacement_match(contest.conn, *one)
        for one in again.matches_to_queue(contest.conn, ["numpy"], at_once)
    ]


def test_a_predicate_selects_results_with_all_its_properties(
    contest: Contest, four: list[EntryId]
) -> None:
    conn = contest.conn
    first = contest.rated(*four)
    contest.play(first, [1, 2, 3, 4], ["DONE", "DONE", "TIMEOUT", "DONE"])
    second = contest.rated(*four)
    order = contest.claim(second, "w2")
    assert lease.fail_attempt(conn, second, order.attempt, "w2", AttemptFault("host", "disk full"))
    order = contest.claim(second, "w3")
    contest.finish(second, order.attempt, [1, 2, 3, 4], worker="w3")
    agents = [entries.get_entry(conn, entry).agent_id for entry in four]
    soon = datetime.now(UTC) + timedelta(minutes=1)
    both = [first, second]
    assert fits(contest, node="node") == both
    assert fits(contest, worker="w3") == [second]
    assert fits(contest, node="node", worker="w9") == []
    assert fits(contest, image_digest="sha256:image", rules_digest="sha256:rules") == both
    assert fits(contest, until=soon) == both
    assert fits(contest, since=soon) == []
    assert fits(contest, agent=agents[2]) == both
    assert fits(contest, verdict="TIMEOUT") == [first]
    assert fits(contest, verdict="TIMEOUT", agent=agents[2]) == [first]
    assert fits(contest, verdict="TIMEOUT", agent=agents[1]) == []
    assert fits(contest, fault="agent") == [first]
    assert fits(contest, fault="host") == [second]
    assert fits(contest, fault="worker") == []
    with pytest.raises(LadderError, match="give at least one condition on matches: worker, node"):
        fits(contest)


def test_a_preview_shows_the_board_without_the_results(
    contest: Contest, four: list[EntryId]
) -> None:
    conn, season = contest.conn, contest.season.id
    play(contest, four, 12)
    before = datetime.now(UTC)
    play(contest, four[::-1], 25, seed=2)
    OfficialFitter().refit(conn, season)
    board = leaderboard.read_board(conn, season)
    seen = preview_rejudgement(conn, season, Predicate(since=before))
    assert (seen.total, seen.version) == (25, 1)
    turned = {change.before.entry_id: change for change in seen.changes if change.before}
    best, worst = turned[four[0]], turned[four[3]]
    assert best.before is not None
    assert best.after is not None
    assert worst.after is not None
    assert (best.before.rank, best.after.rank, worst.after.rank) == (4, 1, 4)
    assert (best.after.score or 0.0) > (best.before.score or 0.0) + 10
    assert leaderboard.read_board(conn, season) == board
    assert len(standing_versions.list_versions(conn, season)) == 1
    assert audit_log.list_audits(conn, contest.league.id) == []

    straight = make_contest(conn)
    same = [straight.active() for _ in range(4)]
    play(straight, same, 12)
    OfficialFitter().refit(conn, straight.season.id)
    alone = {
        row.entry_id: row.score_and_sigma[0]
        for row in leaderboard.read_board(conn, straight.season.id).rows
    }
    after = {change.after.entry_id: change.after.score for change in seen.changes if change.after}
    for one, two in zip(four, same, strict=True):
        assert after[one] == pytest.approx(alone[two], abs=1e-6)


def test_a_preview_without_results_changes_nothing(contest: Contest, four: list[EntryId]) -> None:
    play(contest, four, 9)
    OfficialFitter().refit(contest.conn, contest.season.id)
    seen = preview_rejudgement(contest.conn, contest.season.id, Predicate(node="another"))
    assert (seen.matches, seen.changes) == ((), ())


def test_a_preview_compares_no_fits_of_two_methods(contest: Contest, four: list[EntryId]) -> None:
    conn, season = contest.conn, contest.season.id
    play(contest, four, 9)
    OfficialFitter().refit(conn, season)
    board = leaderboard.read_board(conn, season)
    ((content,),) = conn.execute("select content from standings").fetchall()
    other = json.dumps([[entry, score + 50, *rest] for entry, score, *rest in json.loads(content)])
    conn.execute("alter table standings disable trigger standings_kept")
    conn.execute("update standings set fitted_by = fitted_by - 1, content = %s", (other,))
    assert leaderboard.read_board(conn, season) != board
    assert preview_rejudgement(conn, season, Predicate(node="another")).changes == ()


def test_matches_are_rejudged_a_few_at_a_time(contest: Contest, four: list[EntryId]) -> None:
    conn = contest.conn
    old = play(contest, four, 5)
    act = judge(contest)
    assert (act.total, act.waiting, act.under_way, act.done) == (5, 5, 0, 0)
    (audit,) = audit_log.list_audits(conn, contest.league.id)
    assert (audit.act, audit.subject, audit.reason) == ("rejudge", act.id, "a bad node")
    assert (audit.by_user, audit.details) == (
        contest.host,
        {"predicate": {"node": "node"}, "matches": 5},
    )
    first = queue(contest, at_once=2)
    assert len(first) == 2
    assert queue(contest, at_once=2) == []
    for match_id, was in zip(first, old, strict=False):
        assert match_id is not None
        assert history.get_match(conn, match_id).seed == history.get_match(conn, was).seed
        contest.play(match_id, [4, 3, 2, 1])
    now = again.get_rejudgement(conn, act.id)
    assert (now.waiting, now.under_way, now.done) == (3, 0, 2)
    lost, *rest = queue(contest)
    assert lost is not None
    matches.void_matches(conn, [lost], VoidCause.ATTEMPTS_USED_UP, "no worker")
    for match_id in rest:
        assert match_id is not None
        contest.play(match_id, [4, 3, 2, 1])
    rate(contest)
    now = again.get_rejudgement(conn, act.id)
    assert (now.waiting, now.under_way, now.done, now.void) == (0, 0, 4, 1)
    standing = fits(contest, node="node")
    assert old[2] in standing  # its new match was void: it can be judged again
    assert not {old[0], old[1], old[3], old[4]} & set(standing)
    assert len(standing) == 5


def test_a_match_is_not_rejudged_twice_at_once(contest: Contest, four: list[EntryId]) -> None:
    (one, _) = play(contest, four, 2)
    judge(contest)
    with pytest.raises(Conflict, match="matches no valid result"):
        judge(contest)
    lineup = matches.lineup_of(contest.conn, one)
    contest.rated(*[seat.entry_id for seat in lineup if seat.entry_id], rejudges=one)
    made = queue(contest)
    assert [match_id is None for match_id in made] == [True, False]
    (audit,) = audit_log.list_audits(contest.conn, contest.league.id)
    now = again.get_rejudgement(contest.conn, audit.subject)  # type: ignore[arg-type]
    assert (now.refused, now.under_way, now.waiting) == (1, 1, 0)


def test_a_rejudge_keeps_the_lineup_of_the_match(contest: Contest, four: list[EntryId]) -> None:
    (old,) = play(contest, four, 1)
    for lineup in (four[::-1], [*four[:3], contest.active()]):
        with pytest.raises(Conflict, match="a rejudgement must have the lineup of the match"):
            contest.rated(*lineup, rejudges=old)
    other = make_contest(contest.conn)
    with pytest.raises(Conflict, match="choose a match of this season"):
        other.rated(*four, rejudges=old)
    assert all(entries.get_entry(contest.conn, entry).in_flight == 0 for entry in four)
    contest.rated(*four, rejudges=old)


def test_a_match_of_a_retired_entry_is_rejudged(contest: Contest, four: list[EntryId]) -> None:
    play(contest, four, 1)
    entries.retire_entry(contest.conn, four[0])
    judge(contest)
    (made,) = queue(contest)
    assert made is not None
    contest.play(made, [2, 1, 3, 4])
    rate(contest)
    assert entries.get_entry(contest.conn, four[0]).games == 1


def test_medals_stay_open_until_all_matches_are_rejudged(
    conn: Connection,
) -> None:
    medals = MedalRules(MedalRuleKind.COUNTS, gold=1, silver=1, bronze=1)
    contest = make_contest(conn, medals=medals, medal_confidence=0.6)
    four, fitter, season = [contest.active() for _ in range(4)], OfficialFitter(), contest.season.id
    play(contest, four[::-1], 3, seed=3)
    before = datetime.now(UTC)
    for games in (70, 5, 5):  # enough standings for a seal
        play(contest, four, games)
        fitter.refit(conn, season)
    seasons.set_season_state(conn, season, "locked")
    fitter.refit(conn, season)
    assert len(sealed_medals_of_season(conn, season)) == 3
    suspects = Predicate(since=before)
    turned = {
        change.after.entry_id: change.after.medal
        for change in preview_rejudgement(conn, season, suspects).changes
        if change.after
    }
    assert turned[four[3]] is Medal.GOLD
    act = judge(contest, suspects)
    assert sealed_medals_of_season(conn, season) == {}
    fitter.refit(conn, season)
    assert sealed_medals_of_season(conn, season) == {}  # none of them is queued, all of them wait
    results = iter(placements(80, seed=4))
    while made := queue(contest):
        for match_id in made:
            assert match_id is not None
            contest.play(match_id, next(results))
    rate(contest)
    fitter.refit(conn, season)
    assert again.get_rejudgement(conn, act.id).done == 80
    assert len(sealed_medals_of_season(conn, season)) == 3


def test_a_rejudged_finished_season_gets_a_new_final_standing(
    contest: Contest, four: list[EntryId]
) -> None:
    conn, season, fitter = contest.conn, contest.season.id, OfficialFitter()
    play(contest, four, 4)
    seasons.set_season_state(conn, season, "finished")
    fitter.refit(conn, season)
    act = judge(contest)
    for made in queue(contest):
        assert made is not None
        contest.play(made, [4, 3, 2, 1])
    rate(contest)
    conn.execute("update seasons set official_at = official_at - interval '2 s'")
    assert fitting.seasons_to_fit(conn) == [season]
    fitter.refit(conn, season)
    last, first = standing_versions.list_versions(conn, season)
    assert (last.parent, again.get_rejudgement(conn, act.id).done) == (None, 4)
    for version in (last, first):
        assert fitting.recompute_digest(conn, season, version.version) == version.digest
    rows = leaderboard.read_board(conn, season).rows
    assert [row.entry_id for row in rows] == four[::-1]


def looked_at(contest: Contest, four: list[EntryId], fitter: OfficialFitter) -> list[MatchId]:
    """Play eighty games, with as many standings as a seal needs."""
    played = play(contest, four, 80 - 5 * (STANDINGS_THAT_MUST_AGREE - 1))
    for _ in range(STANDINGS_THAT_MUST_AGREE - 1):
        fitter.refit(contest.conn, contest.season.id)
        played += play(contest, four, 5)
    return played


def test_a_cancelled_rejudgement_keeps_the_remaining_results(
    conn: Connection,
) -> None:
    medals = MedalRules(MedalRuleKind.COUNTS, gold=1, silver=1, bronze=1)
    contest = make_contest(conn, medals=medals, medal_confidence=0.6)
    four, fitter, season = [contest.active() for _ in range(4)], OfficialFitter(), contest.season.id
    old = looked_at(contest, four, fitter)
    seasons.set_season_state(conn, season, "locked")
    act = judge(contest)
    first, running, waiting = queue(contest, at_once=3)
    assert first is not None
    assert running is not None
    assert waiting is not None
    contest.play(first, [1, 2, 3, 4])
    order = contest.claim(running)
    listed = again.matches_to_queue(conn, ["numpy"])
    rate(contest)
    fitter.refit(conn, season)
    assert sealed_medals_of_season(conn, season) == {}

    ended = again.cancel_rejudgement(
        conn, act.id, by=contest.host, reason="no node serves it any more"
    )
    assert (ended.state, ended.done, ended.void, ended.refused) == ("cancelled", 1, 2, 77)
    assert (ended.waiting, ended.under_way) == (0, 0)
    assert ended.ended_at is not None
    assert contest.finish(running, order.attempt, [4, 3, 2, 1]) is not FinishResult.ACCEPTED
    assert [again.queue_replacement_match(conn, *one) for one in listed] == [None] * len(listed)
    assert again.matches_to_queue(conn, ["numpy"]) == []
    assert fits(contest, node="node") == [*old[1:], first]
    audit = audit_log.list_audits(conn, contest.league.id)[0]
    assert (audit.act, audit.subject, audit.by_user) == ("cancel", act.id, contest.host)
    assert audit.details == {"done": 1, "called_off": 79}
    with pytest.raises(Conflict, match="it has already ended"):
        again.cancel_rejudgement(conn, act.id, by=contest.host, reason="once more")

    conn.execute("update seasons set official_at = official_at - interval '2 s'")
    assert fitting.seasons_to_fit(conn) == [season]
    fitter.refit(conn, season)
    assert len(sealed_medals_of_season(conn, season)) == 3


def test_a_rejudgement_ends_when_no_match_is_left(contest: Contest, four: list[EntryId]) -> None:
    conn, season = contest.conn, contest.season.id
    play(contest, four, 2)
    lost = judge(contest)
    assert again.end_finished_rejudgements(conn) == []
    made = [match_id for match_id in queue(contest) if match_id is not None]
    matches.void_matches(conn, made[:1], VoidCause.ATTEMPTS_USED_UP, "no worker")
    assert again.end_finished_rejudgements(conn) == []  # one is still running
    matches.void_matches(conn, made[1:], VoidCause.ATTEMPTS_USED_UP, "no worker")
    OfficialFitter().refit(conn, season)
    assert [(act.id, act.state) for act in again.end_finished_rejudgements(conn)] == [
        (lost.id, again.RejudgementState.VOID)
    ]
    conn.execute("update seasons set official_at = official_at - interval '2 s'")
    assert fitting.seasons_to_fit(conn) == [season]  # open medals may now be sealed
    assert again.end_finished_rejudgements(conn) == []
    done = judge(contest)
    one, other = (match_id for match_id in queue(contest) if match_id is not None)
    matches.void_matches(conn, [one], VoidCause.ATTEMPTS_USED_UP, "no worker")
    contest.play(other, [4, 3, 2, 1])
    assert [(act.id, act.state) for act in again.end_finished_rejudgements(conn)] == [
        (done.id, again.RejudgementState.DONE)
    ]


def test_a_standing_with_a_withdrawn_result_seals_no_medal(
    conn: Connection,
) -> None:
    medals = MedalRules(MedalRuleKind.COUNTS, gold=1, silver=1, bronze=1)
    contest = make_contest(conn, medals=medals, medal_confidence=0.6)
    four, fitter, season = [contest.active() for _ in range(4)], OfficialFitter(), contest.season.id
    looked_at(contest, four, fitter)
    seasons.set_season_state(conn, season, "locked")
    judge(contest)
    while made := queue(contest):
        for match_id in made:
            assert match_id is not None
            contest.play(match_id, [1, 2, 3, 4])
    fitter.refit(conn, season)  # rated from the old results
    assert sealed_medals_of_season(conn, season) == {}
    rate(contest)
    fitter.refit(conn, season)
    assert len(sealed_medals_of_season(conn, season)) == 3
