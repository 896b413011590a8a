"""One-seat seasons in a real database: rounds with common seeds, totals, the board."""

from __future__ import annotations

import json
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from ladder.database.db import Connection
from ladder.entries import entries
from ladder.enums import MatchState, VoidCause
from ladder.ids import EntryId, MatchId
from ladder.leagues import seasons
from ladder.leagues.measures import Measure, MeasureKind
from ladder.leagues.medals import MedalRuleKind as MedalKind
from ladder.leagues.medals import MedalRules, MedalStatus
from ladder.matches import history, lease, matches
from ladder.matches.pairing import next_rounds
from ladder.matches.records import EpisodeResult, FinishResult
from ladder.moderation import disqualifications
from ladder.notices import inbox
from ladder.people import teams
from ladder.ratings import fitting, live_ratings, solo_seasons
from ladder.reports import insights
from ladder.standings import leaderboard, medal_notices
from ladder.standings.board_ranking import Board
from tests.integration.ladder.contest import Contest, digest, make_contest, results

SNAKE = (
    Measure("won", "Won", MeasureKind.SHARE),
    Measure("length", "Length", MeasureKind.MEAN),
    Measure("steps", "Steps of won games", MeasureKind.MEAN, is_higher_better=False, of="won"),
)


@pytest.fixture
def alone(conn: Connection) -> Contest:
    """An open one-seat season with a gold medal and without entries."""
    return make_contest(conn, seats=1, measures=SNAKE, medals=MedalRules(MedalKind.COUNTS, 1, 0, 0))


def queue(contest: Contest, most: int) -> list[MatchId]:
    season = seasons.get_season(contest.conn, contest.season.id)
    proposed = next_rounds(*solo_seasons.entry_rounds(contest.conn, season), most)
    return [
        solo_seasons.queue_round_match(contest.conn, season, each, number, 0)
        for each, number in proposed
    ]


def play(contest: Contest, match_id: MatchId, won: int, length: int, steps: int = 100) -> None:
    order = contest.claim(match_id)
    [seat] = results([1])
    told = {"won": won, "length": length, "steps": steps}
    finished = lease.finish_match(
        contest.conn,
        match_id,
        order.attempt,
        "w1",
        [replace(seat, statistics=told)],
        [EpisodeResult(42, digest("replay"))],
        node="node",
        image_digest="sha256:image",
        rules_digest="sha256:rules",
    )
    assert finished is FinishResult.ACCEPTED


def rate(contest: Contest, limit: int = 200) -> None:
    while live_ratings.rate_season(contest.conn, contest.season.id, limit):
        pass


def board(contest: Contest) -> Board:
    return leaderboard.read_board(contest.conn, contest.season.id)


def entry_of(contest: Contest, match_id: MatchId) -> EntryId:
    entry = history.get_match(contest.conn, match_id).seats[0].entry_id
    assert entry is not None
    return entry


def round_of(contest: Contest, entry_id: EntryId) -> int:
    row = contest.conn.execute("select round from entries where id = %s", (entry_id,)).fetchone()
    assert row is not None
    return int(row[0])


def test_all_entries_play_a_round_with_one_seed(alone: Contest) -> None:
    alone.active(), alone.active()
    one, two, three, four = (
        history.get_match(alone.conn, match_id).seed for match_id in queue(alone, 4)
    )
    assert one == two
    assert three == four
    assert one != three
    assert len(one) == 16


def test_a_late_entry_starts_with_the_next_unplayed_round(alone: Contest) -> None:
    old = alone.active()
    pending = alone.pending()
    begun = queue(alone, 3)
    seen = {history.get_match(alone.conn, match_id).seed for match_id in begun}
    match_id = alone.validation(pending)
    alone.play(match_id, [1])
    assert round_of(alone, old) == round_of(alone, pending) == 3
    later = queue(alone, 2)
    assert {entry_of(alone, match_id) for match_id in later} == {old, pending}
    [seed] = {history.get_match(alone.conn, match_id).seed for match_id in later}
    assert seed not in seen


def test_the_board_ranks_by_the_measures(alone: Contest) -> None:
    names = [alone.active() for _ in range(3)]
    lengths = dict(zip(names, (30, 90, 60), strict=True))
    for match_id in queue(alone, 9):
        entry = entry_of(alone, match_id)
        play(alone, match_id, int(lengths[entry] == 90), lengths[entry])
    rate(alone)
    shown = board(alone)
    assert [row.entry_id for row in shown.rows] == [names[1], names[2], names[0]]
    assert [row.rank for row in shown.rows] == [1, 2, 3]
    won, length, steps = shown.rows[0].estimates
    assert (won.value, won.games, length.value, steps.games) == (1.0, 3, 90.0, 3)
    assert won.low is not None
    assert 0.3 < won.low < 0.6
    assert (shown.rows[0].medal, shown.rows[0].status) == ("gold", MedalStatus.LIKELY)
    assert shown.rows[0].chance is None
    assert shown.measures == SNAKE
    assert fitting.seasons_to_fit(alone.conn) == []


def test_a_result_counts_once_for_every_batch_size(alone: Contest) -> None:
    alone.active(), alone.active()
    random = Random(4)
    for match_id in queue(alone, 14):
        play(alone, match_id, random.randrange(2), random.randrange(100))
    rate(alone, limit=3)
    before = {row.entry_id: row.estimates for row in board(alone).rows}
    rate(alone)
    assert {row.entry_id: row.estimates for row in board(alone).rows} == before
    assert [row.games for row in board(alone).rows] == [7, 7]


def test_a_rejudged_result_replaces_the_old_in_the_totals(alone: Contest) -> None:
    entry = alone.active()
    first, second = queue(alone, 2)
    play(alone, first, 1, 100)
    play(alone, second, 0, 20)
    rate(alone)
    again = alone.rated(entry, rejudges=first)
    assert history.get_match(alone.conn, again).seed == history.get_match(alone.conn, first).seed
    play(alone, again, 0, 40)
    rate(alone)
    won, length, steps = board(alone).rows[0].estimates
    assert (won.value, won.games, length.value, steps.value) == (0.0, 2, 30.0, None)


def test_totals_are_recomputed_once_for_several_withdrawn_results(
    alone: Contest, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = alone.active(), alone.active()
    played = queue(alone, 8)
    for n, match_id in enumerate(played):
        play(alone, match_id, n % 2, 10 * n)
    for n, match_id in enumerate(played[:5]):
        play(alone, alone.rated(entry_of(alone, match_id), rejudges=match_id), 1, 100 + n)
    counted, add = list[EntryId](), solo_seasons.MeasureTotals._add

    def counting(totals: solo_seasons.MeasureTotals, entry: EntryId, *told: Any) -> None:
        counted.append(entry)
        add(totals, entry, *told)

    monkeypatch.setattr(solo_seasons.MeasureTotals, "_add", counting)
    rate(alone)
    assert (
        len(counted) == 8 + 5 + 8
    )  # each result once at its arrival, and the valid ones once more
    standing = {
        found: alone.conn.execute(
            "select count(*), sum((t.statistics ->> 'length')::float) from seats t"
            " join matches m on m.id = t.match_id where t.entry_id = %s and m.kind = 'rated'"
            " and not exists (select 1 from matches r where r.rejudges = m.id)",
            (found,),
        ).fetchone()
        for found in names
    }
    for row in board(alone).rows:
        _, length, _ = row.estimates
        assert (length.games, (length.value or 0) * length.games) == standing[row.entry_id]


def test_a_finished_season_is_final_after_its_last_game(alone: Contest) -> None:
    entry = alone.active()
    alone.active()
    one, two = queue(alone, 2)
    play(alone, one, 1, 100)
    rate(alone)
    seasons.set_season_state(alone.conn, alone.season.id, "finished")
    assert fitting.seasons_to_fit(alone.conn) == []  # a game is running
    play(alone, two, 0, 10)
    rate(alone)
    assert fitting.seasons_to_fit(alone.conn) == [alone.season.id]
    fitting.OfficialFitter().refit(alone.conn, alone.season.id)
    assert fitting.seasons_to_fit(alone.conn) == []
    final = board(alone)
    assert final.terms.is_final
    assert final.rows[0].entry_id == entry
    assert final.rows[0].status is MedalStatus.AWARDED
    assert medal_notices.seasons_with_news(alone.conn) == [alone.season.id]
    assert medal_notices.record_medal_changes(alone.conn, alone.season.id) == 1
    assert medal_notices.seasons_with_news(alone.conn) == []
    (winner,) = teams.list_members(alone.conn, final.rows[0].team_id)
    newest = inbox.list_notices(alone.conn, winner.id)[0]
    assert (newest.kind, newest.title) == ("medal_awarded", "A gold medal is won")
    disqualifications.disqualify(
        alone.conn, alone.season.id, entry, by=alone.host, reason="it colludes"
    )
    rate(alone)
    assert fitting.seasons_to_fit(alone.conn) == [alone.season.id]
    fitting.OfficialFitter().refit(alone.conn, alone.season.id)
    assert [row.rank for row in board(alone).rows] == [1]


def test_a_retired_entry_gets_no_match(alone: Contest) -> None:
    entry = alone.active()
    season = seasons.get_season(alone.conn, alone.season.id)
    field, _ = solo_seasons.entry_rounds(alone.conn, season)
    entries.retire_entry(alone.conn, entry)
    with pytest.raises(Exception, match="active entries"):
        solo_seasons.queue_round_match(alone.conn, season, field[0].candidate, 1, 0)
    assert seasons.get_season(alone.conn, season.id).accepted_no == 0
    assert matches.matches_in_flight(alone.conn, season.id) == 0


def test_a_game_without_measures_is_ranked_by_its_reward(conn: Connection) -> None:
    contest = make_contest(conn, seats=1)
    contest.active()
    [match_id] = queue(contest, 1)
    contest.play(match_id, [1])
    rate(contest)
    [row] = board(contest).rows
    assert [(one.name, one.value) for one in row.estimates] == [("reward", 9.0)]
    match = history.get_match(conn, match_id)
    assert match.state is MatchState.FINISHED
    assert (match.seats[0].mu_before, match.seats[0].statistics) == (None, None)
    stored = conn.execute("select totals from entries where id = %s", (row.entry_id,)).fetchone()
    assert stored is not None
    assert json.dumps(stored[0]) == '{"reward": [1, 9.0, 81.0]}'


def paid(contest: Contest, match_id: MatchId, reward: float | None) -> None:
    """Play the match with this reward; for None the entry fails."""
    order = contest.claim(match_id)
    [seat] = results([1], ["DONE" if reward is not None else "ERROR"])
    finished = lease.finish_match(
        contest.conn,
        match_id,
        order.attempt,
        "w1",
        [replace(seat, reward=reward)],
        [EpisodeResult(42, digest("replay"))],
        node="node",
        image_digest="sha256:image",
        rules_digest="sha256:rules",
    )
    assert finished is FinishResult.ACCEPTED


def test_a_crash_ranks_behind_negative_rewards(conn: Connection) -> None:
    contest = make_contest(conn, seats=1)
    playing, crashing = contest.active(), contest.active()
    for number, match_id in enumerate(queue(contest, 6)):
        paid(contest, match_id, -5.0 - number if entry_of(contest, match_id) == playing else None)
    rate(contest, limit=2)
    shown = board(contest)
    assert [row.entry_id for row in shown.rows] == [playing, crashing]
    [of_crashing] = shown.rows[1].estimates
    least = conn.execute("select min(reward) from seats").fetchone()
    assert (of_crashing.games, of_crashing.value) == (3, (least or (None,))[0])
    season = seasons.get_season(conn, contest.season.id)
    told = insights.read_insights(conn, entries.get_entry(conn, crashing), season, 10.0)
    assert told.estimates == (of_crashing,)


def void(contest: Contest, match_id: MatchId) -> None:
    assert (
        matches.void_matches(
            contest.conn, [match_id], VoidCause.ATTEMPTS_USED_UP, "the node burned"
        )
        == 1
    )


def test_a_void_round_is_repeated_with_its_seed(alone: Contest) -> None:
    alone.active(), alone.active()
    lost, *others = queue(alone, 4)
    entry, seed = entry_of(alone, lost), history.get_match(alone.conn, lost).seed
    void(alone, lost)
    for match_id in others:
        play(alone, match_id, 1, 10)
    season = seasons.get_season(alone.conn, alone.season.id)
    [gap] = solo_seasons.void_rounds(alone.conn, season.id)
    assert (gap.match_id, gap.entry_id, gap.round) == (lost, entry, 1)
    [candidate] = [
        each.candidate
        for each in solo_seasons.entry_rounds(alone.conn, season)[0]
        if each.candidate.entry_id == entry
    ]
    again = solo_seasons.requeue_round_match(alone.conn, season, candidate, gap, 0)
    assert history.get_match(alone.conn, again).seed == seed
    assert entry_of(alone, again) == entry
    assert solo_seasons.void_rounds(alone.conn, season.id) == []
    assert round_of(alone, entry) == 2
    assert solo_seasons.delete_old_round_matches(alone.conn, season.id) == 3
    play(alone, again, 1, 10)
    assert solo_seasons.delete_old_round_matches(alone.conn, season.id) == 1
    assert solo_seasons.delete_old_round_matches(alone.conn, season.id) == 0
