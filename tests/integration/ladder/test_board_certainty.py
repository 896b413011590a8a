"""How well the board is known: from stored versions of a real season, and medals' outlooks."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from ladder.leagues.medals import Medal, MedalRuleKind, MedalRules
from ladder.ratings import live_ratings
from ladder.ratings.fitting import OfficialFitter
from ladder.standings import board_certainty, leaderboard
from ladder.standings.board_certainty import CertaintyMoment
from ladder.standings.board_ranking import build_board
from ladder.standings.board_records import MedalTerms
from services.web.certainty import HEIGHT, WIDTH, draw_curve
from tests.integration.ladder.contest import Contest

NOW = datetime(2026, 11, 1, tzinfo=UTC)


def moment(version: int, matches: int, order: float = 0.9) -> CertaintyMoment:
    return CertaintyMoment(version, NOW + timedelta(hours=matches), matches, order, 2.0)


def play(contest: Contest, games: int) -> None:
    random = Random(games)
    for _ in range(games):
        order = sorted(range(4), key=lambda n: n + random.gauss(0, 1))
        contest.play(contest.rated(*contest.entries[:4]), [order.index(n) + 1 for n in range(4)])
    while live_ratings.rate_season(contest.conn, contest.season.id):
        pass
    OfficialFitter().refit(contest.conn, contest.season.id)


def test_more_games_make_the_order_more_certain(contest: Contest) -> None:
    conn, season = contest.conn, contest.season.id
    for _ in range(4):
        contest.active()
    for games in (2, 18):
        play(contest, games)
    board = leaderboard.read_board(conn, season)
    known = board_certainty.read_certainty(conn, season, board, datetime.now(UTC))
    first, last = known.moments
    assert (first.matches, last.matches, known.games) == (2, 20, 80)
    assert first.expected_order is not None
    assert last.expected_order is not None
    assert first.expected_order < last.expected_order < 1.0
    assert sum(each.given for each in known.outlooks) == sum(
        1 for row in board.rows if row.medal is not None
    )


def test_a_medal_is_sure_after_games_that_grow_with_the_square_of_its_distance(
    contest: Contest,
) -> None:
    for _ in range(4):
        contest.active()
    play(contest, 3)
    board = leaderboard.read_board(contest.conn, contest.season.id)
    entry = board.rows.order.entry(0)
    one_gold = MedalTerms(MedalRules(MedalRuleKind.COUNTS, gold=1))

    def outlook(chance: float) -> board_certainty.MedalOutlook:
        assert entry.official is not None
        place = replace(entry.official, chances=(chance, 1.0, 1.0))
        rows = build_board([replace(entry, official=place)], 0.0, one_gold)
        given = replace(board, rows=rows)
        found = board_certainty.medal_outlook(given, Medal.GOLD, [moment(1, 100)], 1.0, NOW)
        assert found is not None
        return found

    assert (outlook(0.96).sure, outlook(0.96).sure_at) == (1, NOW)
    near = outlook(0.8413)  # one deviation: (1.645 / 1)^2 = 2.7 times the games so far
    assert near.sure == 0
    assert near.sure_at is not None
    assert (near.sure_at - NOW).total_seconds() == pytest.approx(170.6, abs=1.0)
    assert outlook(0.5).sure_at is None


def test_the_pace_is_that_of_the_newer_half_of_the_log() -> None:
    moments = [moment(1, 10), moment(2, 60), replace(moment(3, 110), made_at=NOW)]
    moments[1] = replace(moments[1], made_at=NOW - timedelta(seconds=25))
    assert board_certainty.matches_per_second(moments) == 2.0
    assert board_certainty.matches_per_second(moments[:1]) == 0.0


def test_a_curve_starts_at_the_left_and_ends_at_the_right() -> None:
    curve = draw_curve([moment(1, 10), moment(2, 60)], [0.5, 1.0], 1.0)
    assert curve is not None
    assert curve.points == f"0.0,{HEIGHT / 2:.1f} {WIDTH:.1f},0.0"
    assert draw_curve([moment(1, 10)], [0.5]) is None
