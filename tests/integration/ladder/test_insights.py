"""Insights in a real database."""

from __future__ import annotations

import pytest

from ladder.entries import entries
from ladder.ids import EntryId
from ladder.leagues import seasons
from ladder.ratings import fitting, live_ratings
from ladder.reports import insights
from ladder.reports.insights import Insights
from tests.integration.ladder.contest import Contest


def rate(contest: Contest) -> None:
    while live_ratings.rate_season(contest.conn, contest.season.id):
        pass


def read(contest: Contest, entry_id: EntryId, within: float = 25.0) -> Insights:
    season = seasons.get_season(contest.conn, contest.season.id)
    return insights.read_insights(
        contest.conn, entries.get_entry(contest.conn, entry_id), season, within
    )


def test_games_are_counted_by_opponent_seat_and_verdict(contest: Contest) -> None:
    a, b, c, d = (contest.active() for _ in range(4))
    contest.play(contest.rated(a, b, c, d), [1, 2, 2, 4])
    contest.play(contest.rated(b, a, c, d), [1, 2, 3, 4], ["DONE", "DONE", "DONE", "TIMEOUT"])
    rate(contest)
    fitting.OfficialFitter().refit(contest.conn, contest.season.id)
    found = read(contest, a)
    agent = entries.get_entry(contest.conn, b).agent_id
    met = {row.agent_id: row for row in found.opponents}[agent]
    assert (met.games, met.better, met.tied, met.worse) == (2, 1, 0, 1)
    assert met.agent_name.startswith("a")
    assert [(row.seat, row.games, row.mean_placement) for row in found.seats] == [
        (0, 1, 1.0),
        (1, 1, 2.0),
    ]
    assert found.verdicts == {"DONE": 2}
    strengths = found.strengths
    shares = (strengths.stronger, strengths.near, strengths.weaker)
    assert sum(share.duels for share in shares) == 5, "one duel had a fault"
    assert sum(share.with_fault for share in shares) == 1
    assert found.official is not None
    assert found.times is not None
    assert found.times.slowest_move_max_seconds == 0.1
    broken = read(contest, d)
    assert broken.verdicts == {"DONE": 1, "TIMEOUT": 1}
    assert [(row.share.duels, row.share.with_fault) for row in broken.seats] == [(3, 3)]
    assert (read(contest, a, 10.0).games_left or 0) > (found.games_left or 0) > 0


def test_a_withdrawn_result_is_not_counted(contest: Contest) -> None:
    a, *others = (contest.active() for _ in range(4))
    first = contest.rated(a, *others)
    contest.play(first, [4, 3, 2, 1])
    rate(contest)
    contest.play(contest.rated(a, *others, rejudges=first), [1, 2, 3, 4])
    rate(contest)
    found = read(contest, a)
    assert found.games == 1
    assert [row.better for row in found.opponents] == [1, 1, 1]


def test_the_pace_counts_the_last_hour(contest: Contest) -> None:
    four = [contest.active() for _ in range(4)]
    assert read(contest, four[0]).pace == insights.LeaguePace(0.0, 0.0, 600.0)
    for _ in range(3):
        contest.play(contest.rated(*four), [1, 2, 3, 4])
    rate(contest)
    pace = insights.read_pace(contest.conn, contest.season)  # 3 matches in at least ten minutes
    assert pace == insights.LeaguePace(18.0, 18.0, 600.0)


def test_a_new_entry_gets_an_estimate_of_its_first_match(contest: Contest) -> None:
    four = [contest.active() for _ in range(4)]
    newcomer = contest.active()
    assert read(contest, newcomer).first_match_seconds is None, "nothing is played yet"
    contest.play(contest.rated(*four), [1, 2, 3, 4])
    rate(contest)
    waits = read(contest, newcomer).first_match_seconds
    assert waits == pytest.approx(600, abs=60), "one match in ten minutes"
    contest.rated(newcomer, *four[:3])
    soon = read(contest, newcomer).first_match_seconds
    assert soon is not None
    assert soon < 60
    validated = read(contest, contest.pending()).first_match_seconds
    assert validated is not None
    assert validated > 600
    assert read(contest, four[0]).first_match_seconds is None


def test_an_entry_without_games_has_empty_insights(contest: Contest) -> None:
    found = read(contest, contest.active())
    assert found.games == 0
    assert found.times is None
    assert found.opponents == ()
    assert found.strengths.near.duels == 0
