"""The log is folded into ratings exactly once; the board; counters against history."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ladder.database import db
from ladder.database.db import Connection
from ladder.entries import entries
from ladder.enums import MatchKind, VoidCause
from ladder.ids import EntryId, MatchId, SeasonId
from ladder.leagues import seasons
from ladder.matches import history, matches
from ladder.ratings import fitting, live_ratings
from ladder.ratings.rating_updates import RatedResult, RatingParameters
from ladder.standings import leaderboard
from tests.integration.ladder.contest import Contest, make_contest
from tests.rated_log import rate_all
from workers import tasks


@pytest.fixture
def four(contest: Contest) -> list[EntryId]:
    return [contest.active() for _ in range(4)]


def test_a_finished_match_is_rated_once(contest: Contest, four: list[EntryId]) -> None:
    contest.play(contest.rated(*four), [1, 2, 3, 4])
    assert live_ratings.seasons_to_rate(contest.conn) == [contest.season.id]
    before = seasons.get_season(contest.conn, contest.season.id)
    assert _apply(contest) == 1
    assert _apply(contest) == 0
    season = seasons.get_season(contest.conn, contest.season.id)
    assert (season.rated_no, season.accepted_no, season.revision) == (1, 1, before.revision + 1)
    made = [entries.get_entry(contest.conn, e) for e in four]
    assert [e.games for e in made] == [1, 1, 1, 1]
    assert made[0].mu > made[1].mu > made[2].mu > made[3].mu
    assert all(e.last_match_at is not None for e in made)
    assert live_ratings.seasons_to_rate(contest.conn) == []
    point = live_ratings.rating_curve(contest.conn, four[0])[0]
    assert (point.no, point.mu_before, point.mu) == (1, 600.0, made[0].mu)


def test_a_match_shows_the_change_of_each_rating(contest: Contest, four: list[EntryId]) -> None:
    match_id = contest.rated(*four)
    contest.play(match_id, [1, 2, 3, 4])
    assert history.get_match(contest.conn, match_id).seats[0].mu_after is None
    _apply(contest)
    seat = history.get_match(contest.conn, match_id).seats[0]
    assert seat.mu_before == 600.0
    assert seat.mu_after == entries.get_entry(contest.conn, four[0]).mu


def test_an_unratable_season_delays_no_other_season(
    database_url: str, contest: Contest, four: list[EntryId], monkeypatch: pytest.MonkeyPatch
) -> None:
    contest.play(contest.rated(*four), [1, 2, 3, 4])
    other = make_contest(contest.conn)
    other.play(other.rated(*(other.active() for _ in range(4))), [1, 2, 3, 4])
    assert live_ratings.seasons_to_rate(contest.conn) == [contest.season.id, other.season.id]
    apply = live_ratings.rate_season

    def broken(conn: Connection, season: SeasonId, limit: int) -> int:
        if season == contest.season.id:
            raise OverflowError("a season of impossible numbers")
        return apply(conn, season, limit)

    monkeypatch.setattr(live_ratings, "rate_season", broken)
    monkeypatch.setattr(tasks, "database_url", database_url)
    tasks.rate_seasons("a wake-up message")
    assert live_ratings.seasons_to_rate(contest.conn) == [contest.season.id]


def test_the_rater_alternates_between_seasons(
    database_url: str, contest: Contest, four: list[EntryId], monkeypatch: pytest.MonkeyPatch
) -> None:
    other = make_contest(contest.conn)
    for each, field in (contest, four), (other, [other.active() for _ in range(4)]):
        for _ in range(4):
            each.play(each.rated(*field), [1, 2, 3, 4])
    told: list[tuple[str, object]] = []
    monkeypatch.setattr(fitting, "log_event", lambda event, **fields: told.append((event, fields)))
    monkeypatch.setattr(tasks, "database_url", database_url)
    monkeypatch.setattr(fitting, "FOLD", 2)
    monkeypatch.setattr(tasks, "fitter", fitting.OfficialFitter())
    tasks.rate_seasons("a wake-up message")
    one, two = contest.season.id, other.season.id
    fit = [("fitted", {"season": season, "version": 1}) for season in (one, two)]
    turn = [("rated", {"season": season, "results": 2}) for season in (one, two)]
    assert told[:6] == [*turn, *fit, *turn]
    assert live_ratings.seasons_to_rate(contest.conn) == []


def test_a_rater_that_dies_before_its_commit_has_rated_nothing(
    database_url: str, contest: Contest, four: list[EntryId]
) -> None:
    contest.play(contest.rated(*four), [1, 2, 3, 4])
    with db.connect(database_url) as other:
        assert live_ratings.rate_season(other, contest.season.id) == 1
        other.rollback()
    assert entries.get_entry(contest.conn, four[0]).games == 0
    assert _apply(contest) == 1
    assert entries.get_entry(contest.conn, four[0]).games == 1


def test_a_scrim_is_not_rated(contest: Contest, four: list[EntryId]) -> None:
    seats = [contest.seat(e) for e in four]
    scrim = contest.conn.execute(
        "insert into scrims (id, season_id, team_id, requested_by, lineup, games)"
        " values ('scr_x', %s, %s, %s, '[]', 1) returning id",
        (contest.season.id, seats[0].team_id, contest.host),
    ).fetchone()
    assert scrim is not None
    match_id = matches.create_match(
        contest.conn,
        season=contest.season,
        kind=MatchKind.SCRIM,
        lineup=seats,
        scrim_id=scrim[0],
    )
    contest.play(match_id, [1, 2, 3, 4])
    assert _apply(contest) == 0
    assert [entries.get_entry(contest.conn, e).mu for e in four] == [600.0] * 4


def test_a_rejudge_gives_the_ratings_of_the_corrected_log(
    contest: Contest, four: list[EntryId]
) -> None:
    wrong = contest.rated(*four)
    contest.play(wrong, [1, 2, 3, 4], ["DONE", "DONE", "DONE", "ERROR"])
    contest.play(contest.rated(*four), [2, 1, 4, 3])
    _apply(contest)
    assert entries.get_entry(contest.conn, four[3]).faults == 1
    contest.play(contest.rated(*four, rejudges=wrong), [4, 3, 2, 1])
    _apply(contest)
    standing = [(2, 1, 4, 3), (4, 3, 2, 1)]
    anew = rate_all(
        RatingParameters(),
        [RatedResult(MatchId(f"m{p}"), tuple(four), p, (False,) * 4) for p in standing],
    )
    for entry_id in four:
        entry = entries.get_entry(contest.conn, entry_id)
        assert (entry.mu, entry.sigma) == (anew[entry_id].mu, anew[entry_id].sigma)
        assert (entry.games, entry.faults) == (2, 0)


def test_one_rerating_covers_several_withdrawn_results(
    contest: Contest, four: list[EntryId], monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = [contest.rated(*four) for _ in range(3)]
    for match_id in wrong:
        contest.play(match_id, [1, 2, 3, 4])
    _apply(contest)
    for match_id in wrong:
        contest.play(contest.rated(*four, rejudges=match_id), [4, 3, 2, 1])
    counted = list[MatchId]()
    withdraw = live_ratings._apply_rerating

    def counting(*given: Any) -> None:
        counted.append(given[4])
        withdraw(*given)

    monkeypatch.setattr(live_ratings, "_apply_rerating", counting)
    assert live_ratings.rate_season(contest.conn, contest.season.id, limit=1) == 6
    assert counted == wrong[:1]
    curve = live_ratings.rating_curve(contest.conn, four[0])
    assert [point.no for point in curve] == [1, 2, 3, 4, 5, 7, 9]
    assert (curve[3].mu, curve[3].sigma) == (600.0, 200.0)  # all three are disqualified
    _check_against_history(contest, four)


def test_rerating_a_long_log_delays_no_other_season(
    database_url: str, contest: Contest, four: list[EntryId], monkeypatch: pytest.MonkeyPatch
) -> None:
    other = make_contest(contest.conn)
    field = [other.active() for _ in range(4)]
    played = [contest.rated(*four) for _ in range(6)]
    for match_id in played:
        contest.play(match_id, [1, 2, 3, 4])
    _apply(contest)
    before = entries.get_entry(contest.conn, four[0]).mu
    contest.play(contest.rated(*four, rejudges=played[5]), [4, 3, 2, 1])
    for _ in range(2):
        other.play(other.rated(*field), [1, 2, 3, 4])
    monkeypatch.setattr(live_ratings, "AT_ONCE", 2)
    with db.connect(database_url) as rater:  # it ends after a part
        assert live_ratings.rate_season(rater, contest.season.id) == 2
    contest.play(contest.rated(*four, rejudges=played[0]), [4, 3, 2, 1])  # not in this stretch
    assert entries.get_entry(contest.conn, four[0]).mu == before
    told: list[object] = []
    monkeypatch.setattr(fitting, "log_event", lambda event, **each: told.append(each.get("season")))
    monkeypatch.setattr(tasks, "database_url", database_url)
    monkeypatch.setattr(fitting, "FOLD", 1)
    monkeypatch.setattr(fitting.OfficialFitter, "refit", lambda *_: 0)
    monkeypatch.setattr(fitting, "seasons_to_fit", lambda conn: [])
    tasks.rate_seasons("a wake-up message")
    one, two = contest.season.id, other.season.id
    assert told[:4] == [one, two, one, two]
    _check_against_history(contest, four)
    _check_against_history(other, field)
    assert contest.conn.execute("select count(*) from reratings").fetchone() == (0,)


def test_a_corrected_rating_names_the_withdrawn_result(
    contest: Contest,
) -> None:
    field = [contest.active() for _ in range(9)]
    first, second = contest.rated(*field[:4]), contest.rated(*field[4:8])
    for match_id in (first, second):
        contest.play(match_id, [1, 2, 3, 4])
    contest.play(contest.rated(*field[5:9]), [4, 3, 2, 1])
    _apply(contest)
    for match_id, lineup in ((first, field[:4]), (second, field[4:8])):
        contest.play(contest.rated(*lineup, rejudges=match_id), [2, 1, 3, 4])
    _apply(contest)
    named = contest.conn.execute(
        "select r.entry_id, r.match_id from ratings r join acceptances a on a.act = 'withdraw'"
        " and (a.season_id, a.no) = (r.season_id, r.no)"
    ).fetchall()
    assert set(named) == {
        *((entry, first) for entry in field[:4]),
        *((entry, second) for entry in field[4:8]),
        (field[8], first),  # it lost no game itself, and met the entry that did
    }
    _check_against_history(contest, field)


@settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(seed=st.integers(0, 2**32))
def test_ratings_depend_only_on_the_log(conn: Connection, seed: int) -> None:
    rng, at_once = Random(seed), live_ratings.AT_ONCE
    contest = make_contest(conn)
    field = [contest.active() for _ in range(5)]
    finished: list[MatchId] = []
    for _ in range(10):
        if finished and rng.random() < 0.3:
            old = finished.pop(rng.randrange(len(finished)))
            lineup = [s.entry_id for s in history.get_match(conn, old).seats if s.entry_id]
            match_id = contest.rated(*lineup, rejudges=old)
        else:
            match_id = contest.rated(*rng.sample(field, 4))
        fate = rng.random()
        if fate < 0.15:
            matches.void_matches(conn, [match_id], VoidCause.ATTEMPTS_USED_UP, "no luck")
        elif fate < 0.25:
            contest.claim(match_id)
        else:
            placements = [rng.randint(1, 4) for _ in range(4)]
            verdicts = [rng.choice(["DONE", "DONE", "DONE", "ERROR"]) for _ in range(4)]
            contest.play(match_id, placements, verdicts)
            finished.append(match_id)
        if rng.random() < 0.5:
            live_ratings.AT_ONCE = rng.randint(1, 4)  # type: ignore[misc]
            with conn.transaction():
                live_ratings.rate_season(conn, contest.season.id, limit=rng.randint(1, 4))
    while _apply(contest):
        pass
    live_ratings.AT_ONCE = at_once  # type: ignore[misc]
    _check_against_history(contest, field)


def _check_against_history(contest: Contest, field: list[EntryId]) -> None:
    """Check that every maintained column agrees with the append-only rows."""
    standing = contest.conn.execute(
        "select a.match_id from acceptances a where a.season_id = %s and a.act = 'accept'"
        " and not exists (select 1 from acceptances w where w.match_id = a.match_id"
        "   and w.act = 'withdraw') order by a.no",
        (contest.season.id,),
    ).fetchall()
    played = [history.get_match(contest.conn, row[0]) for row in standing]
    anew = rate_all(
        RatingParameters(),
        [
            RatedResult(
                m.id,
                tuple(s.entry_id for s in m.seats if s.entry_id),
                tuple(s.placement or 0 for s in m.seats),
                tuple(s.verdict != "DONE" for s in m.seats),
            )
            for m in played
        ],
    )
    for entry_id in field:
        entry = entries.get_entry(contest.conn, entry_id)
        mine = [s for m in played for s in m.seats if s.entry_id == entry_id]
        start = RatingParameters().initial_rating
        assert (entry.mu, entry.sigma) == (
            anew.get(entry_id, start).mu,
            anew.get(entry_id, start).sigma,
        )
        assert entry.games == len(mine)
        assert entry.faults == sum(s.verdict != "DONE" for s in mine)
        live = history.list_matches(contest.conn, entry_id=entry_id, kind="rated")
        assert entry.in_flight == sum(m.state in ("queued", "running") for m in live)
        curve = live_ratings.rating_curve(contest.conn, entry_id)
        assert all(a.mu == b.mu_before for a, b in pairwise(curve))
        assert not curve or curve[-1].mu == entry.mu


def test_the_board_ranks_teams(contest: Contest, four: list[EntryId]) -> None:
    anchor = contest.active(is_anchor=True)
    fresh = contest.active()
    contest.play(contest.rated(*four[:3], anchor), [1, 2, 4, 3])
    _apply(contest)
    board = leaderboard.read_board(contest.conn, contest.season.id)
    revision = "select revision from seasons where id = %s"
    assert contest.conn.execute(revision, (contest.season.id,)).fetchone() == (board.revision,)
    shown = [(row.entry_id, row.rank) for row in board.rows]
    assert shown[:4] == [(four[0], 1), (four[1], 2), (anchor, None), (four[2], 3)]
    assert {entry for entry, rank in shown[4:]} == {four[3], fresh}
    assert {rank for _, rank in shown[4:]} == {None}
    entries.retire_entry(contest.conn, four[0])
    again = leaderboard.read_board(contest.conn, contest.season.id)
    assert again.revision > board.revision
    assert four[0] not in {row.entry_id for row in again.rows}


def test_a_season_without_entries_has_an_empty_board(contest: Contest) -> None:
    assert leaderboard.read_board(contest.conn, contest.season.id).rows == ()


def _apply(contest: Contest) -> int:
    with contest.conn.transaction():
        return live_ratings.rate_season(contest.conn, contest.season.id)
