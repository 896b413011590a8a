"""Medals in a real database: likely during uploads, sealed afterwards, fixed at the end."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from ladder.database.db import Connection
from ladder.entries import entries
from ladder.errors import Conflict
from ladder.ids import EntryId
from ladder.leagues import medals, seasons
from ladder.leagues.medals import Medal, MedalRuleKind, MedalRules, MedalStatus
from ladder.matches import workers
from ladder.people import audit_log
from ladder.ratings import fitting, live_ratings, standing_versions
from ladder.ratings.fitting import OfficialFitter
from ladder.ratings.medal_sealing import STANDINGS_THAT_MUST_AGREE
from ladder.standings import leaderboard
from ladder.standings.board_records import BoardRow
from services.scheduler.jobs import close_due_seasons
from tests.integration.ladder.contest import Contest, hello, make_contest
from tests.integration.ladder.settled import ONE_EACH, settle
from tests.integration.ladder.test_fitting import play, refit


@pytest.fixture
def contest(conn: Connection) -> Contest:
    """An open season with a medal of each class, sealed well before 60 games."""
    return make_contest(conn, medals=ONE_EACH, medal_confidence=0.8)


@pytest.fixture
def four(contest: Contest) -> list[EntryId]:
    return [contest.active() for _ in range(4)]


def turn(contest: Contest, state: str) -> None:
    seasons.set_season_state(contest.conn, contest.season.id, state)


def board(contest: Contest) -> Sequence[BoardRow]:
    return leaderboard.read_board(contest.conn, contest.season.id).rows


def act(contest: Contest) -> str:
    return audit_log.record_audit(
        contest.conn,
        contest.league.id,
        by=contest.host,
        act="rejudge",
        subject=contest.season.id,
        reason="a broken node",
        season_id=contest.season.id,
    )


def test_a_likely_medal_is_sealed_after_uploads_lock(settled: Contest) -> None:
    refit(settled)
    assert [row.medal for row in board(settled)] == [*Medal, None]
    assert {row.status for row in board(settled)[:3]} == {MedalStatus.LIKELY}
    assert medals.sealed_medals_of_season(settled.conn, settled.season.id) == {}
    turn(settled, "locked")
    refit(settled)
    assert {row.status for row in board(settled)[:3]} == {MedalStatus.SEALED}
    seals = medals.list_sealed_medals(settled.conn, settled.season.id)
    assert {(seal.medal, seal.version) for seal in seals} == {
        (medal, STANDINGS_THAT_MUST_AGREE + 1) for medal in Medal
    }
    assert all(seal.chance >= 0.8 and seal.unsealed_at is None for seal in seals)
    with pytest.raises(Conflict, match="medals are sealed"):
        turn(settled, "open")


def test_an_uncertain_standing_seals_no_medal(conn: Connection) -> None:
    contest = make_contest(conn, medals=ONE_EACH, medal_confidence=0.99)
    four = [contest.active() for _ in range(4)]
    play(contest, four, 1)
    turn(contest, "locked")
    refit(contest)
    assert medals.list_sealed_medals(contest.conn, contest.season.id) == []
    assert [row.status for row in board(contest)] == [*[MedalStatus.LIKELY] * 3, None]
    turn(contest, "open")


def test_a_sealed_medal_survives_later_games(settled: Contest) -> None:
    turn(settled, "locked")
    refit(settled)
    sealed = medals.sealed_medals_of_season(settled.conn, settled.season.id)
    play(settled, settled.entries[::-1], 140)
    refit(settled)
    assert board(settled)[0].entry_id == settled.entries[3]
    for row in board(settled):
        kept = sealed.get(row.team_id)
        assert kept is None or (
            row.medal is not None and list(Medal).index(row.medal) <= list(Medal).index(kept)
        )


def test_only_an_audited_act_undoes_a_seal(settled: Contest) -> None:
    turn(settled, "locked")
    refit(settled)
    conn, season = settled.conn, settled.season.id
    for table in ("sealed_medals", "unsealed_medals"):
        medals.unseal_medals(conn, season, board(settled)[0].team_id, act(settled))
        with pytest.raises(Exception, match="never changed"), conn.transaction():
            conn.execute(f"delete from {table}")
    best = board(settled)[0]
    assert (best.medal, best.status, best.sealed) == (Medal.GOLD, MedalStatus.LIKELY, None)
    gone = [
        seal for seal in medals.list_sealed_medals(conn, season) if seal.unsealed_at is not None
    ]
    assert [(seal.team_id, seal.medal) for seal in gone] == [(best.team_id, Medal.GOLD)]
    assert gone[0].audit_id is not None
    refit(settled)
    assert board(settled)[0].status is MedalStatus.SEALED


def test_no_medal_is_sealed_during_a_rejudge(contest: Contest, four: list[EntryId]) -> None:
    wrong = contest.rated(*four)
    contest.play(wrong, [4, 3, 2, 1])
    settle(contest, four)
    turn(contest, "locked")
    again = contest.rated(*four, rejudges=wrong)
    refit(contest)
    assert medals.sealed_medals_of_season(contest.conn, contest.season.id) == {}
    contest.play(again, [1, 2, 3, 4])
    play(contest, four, 1)
    refit(contest)
    assert len(medals.sealed_medals_of_season(contest.conn, contest.season.id)) == 3


def test_the_number_of_teams_is_kept_once_uploads_lock(conn: Connection) -> None:
    contest = make_contest(conn, medals=MedalRules(MedalRuleKind.SHARES, 0.25, 0.25, 0.25))
    four = [contest.active() for _ in range(4)]
    play(contest, four, 20)
    turn(contest, "locked")
    refit(contest)
    entries.retire_entry(conn, four[3], with_team=True)
    refit(contest)
    assert [row.medal for row in board(contest)] == [*Medal]
    version = standing_versions.get_version(conn, contest.season.id, 2)
    assert version.teams == 4
    assert fitting.recompute_digest(conn, contest.season.id, 2) == version.digest


def test_a_team_that_enters_in_time_counts_even_if_it_plays_during_the_fit(
    conn: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    contest = make_contest(conn, seats=2)
    first, second, third = (contest.active() for _ in range(3))
    for _ in range(10):
        contest.play(contest.rated(first, second), [1, 2])
    live_ratings.rate_season(conn, contest.season.id)
    turn(contest, "locked")
    fitted = fitting._fit_log

    def slow(conn: Connection, *rest: Any) -> Any:
        found = fitted(conn, *rest)
        contest.play(contest.rated(second, third), [1, 2])
        live_ratings.rate_season(conn, contest.season.id)
        return found

    monkeypatch.setattr(fitting, "_fit_log", slow)
    refit(contest)
    monkeypatch.undo()
    refit(contest)
    assert [row.medal for row in board(contest)] == [Medal.BRONZE, None, None]


def test_a_season_ends_once_all_its_medals_are_sealed(
    conn: Connection, capsys: pytest.CaptureFixture[str]
) -> None:
    contest = make_contest(conn, medals=ONE_EACH, medal_confidence=0.8, stops_when_sealed=True)
    patient = make_contest(conn, medals=ONE_EACH, medal_confidence=0.8)
    fields = [(each, [each.active() for _ in range(4)]) for each in (contest, patient)]
    for each, four in fields:
        play(each, four, 1)
        turn(each, "locked")
        refit(each)
    assert close_due_seasons(conn) == {"seasons_turned": 0}  # in doubt
    for each, four in fields:
        settle(each, four)
        refit(each)
    last = contest.rated(*fields[0][1])
    assert close_due_seasons(conn) == {"seasons_turned": 0}  # a game is still running
    assert [season.id for season in seasons.playing_seasons(conn)] == [patient.season.id]
    contest.play(last, [1, 2, 3, 4])
    live_ratings.rate_season(conn, contest.season.id)
    assert close_due_seasons(conn) == {"seasons_turned": 1}
    states = [seasons.get_season(conn, each.season.id).state for each in (contest, patient)]
    assert states == ["finished", "locked"]
    told = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [(line["event"], line.get("reason"), line.get("state")) for line in told] == [
        ("season_stops", "every medal is sealed", None),
        ("season_state_changed", None, "finished"),
    ]
    assert {line["season"] for line in told} == {contest.season.id}


def test_the_final_standing_is_a_cold_fit(contest: Contest, four: list[EntryId]) -> None:
    conn, season = contest.conn, contest.season.id
    play(contest, four, 6)
    fitter = OfficialFitter()
    refit(contest, fitter)
    last = contest.rated(*four)
    turn(contest, "finished")
    assert fitting.seasons_to_fit(conn) == []  # a game is still running
    contest.play(last, [1, 2, 3, 4])
    assert fitting.seasons_to_fit(conn) == []  # and not rated
    live_ratings.rate_season(conn, season)
    assert fitting.seasons_to_fit(conn) == [season]
    refit(contest, fitter)
    final = standing_versions.get_version(conn, season, 2)
    assert (final.parent, final.log_no) == (None, 7)
    before = leaderboard.read_board(conn, season)
    assert before.terms.is_final
    assert {row.status for row in before.rows} <= {MedalStatus.SEALED, MedalStatus.AWARDED, None}
    assert [row.medal for row in before.rows] == [*Medal, None]
    with pytest.raises(Conflict, match="finished"):
        entries.retire_entry(conn, four[0])
    with pytest.raises(Conflict, match="a finished season cannot change"):
        turn(contest, "open")
    conn.execute("update seasons set official_is_stale = true where id = %s", (season,))
    assert fitting.seasons_to_fit(conn) == []
    assert leaderboard.read_board(conn, season) == before
    contest.play(contest.rated(*four, rejudges=last), [4, 3, 2, 1])
    live_ratings.rate_season(conn, season)
    assert fitting.seasons_to_fit(conn) == [season]


def test_no_medal_is_sealed_before_every_timely_entry_has_played(settled: Contest) -> None:
    late = settled.pending()
    turn(settled, "locked")
    refit(settled)
    assert medals.sealed_medals_of_season(settled.conn, settled.season.id) == {}
    entries.retire_entry(settled.conn, late)
    refit(settled)
    assert len(medals.sealed_medals_of_season(settled.conn, settled.season.id)) == 3


def test_an_unplayable_entry_delays_seals_only_for_a_limited_time(settled: Contest) -> None:
    late = settled.active()
    settled.conn.execute("update entries set profile = 'torch-gpu' where id = %s", (late,))
    turn(settled, "locked")

    def sealed() -> int:
        refit(settled)
        return len(medals.sealed_medals_of_season(settled.conn, settled.season.id))

    assert sealed() == 0  # no worker has been up for long enough to decide
    settled.conn.execute("update workers set started_at = now() - interval '2 hours'")
    away = hello("w9", profiles=("torch-gpu",))
    workers.register_worker(settled.conn, away)
    settled.conn.execute(
        "update workers set seen_at = now() - interval '50 minutes' where id = 'w9'"
    )
    assert sealed() == 0  # its node may come back
    settled.conn.execute(
        "update workers set seen_at = now() - interval '70 minutes' where id = 'w9'"
    )
    settled.conn.execute("update workers set live_until = now() + interval '1 hour'")
    assert sealed() == 3


def test_a_season_ending_during_a_fit_gets_a_cold_fit(
    contest: Contest, four: list[EntryId], monkeypatch: pytest.MonkeyPatch
) -> None:
    play(contest, four, 20)
    fitter = OfficialFitter()
    refit(contest, fitter)
    play(contest, four, 4)
    fitted = fitting._fit_log

    def slow(conn: Connection, *rest: Any) -> Any:
        found = fitted(conn, *rest)
        turn(contest, "finished")
        return found

    monkeypatch.setattr(fitting, "_fit_log", slow)
    version = refit(contest, fitter)
    assert standing_versions.get_version(contest.conn, contest.season.id, version).parent is None
    monkeypatch.undo()
    again = fitting.recompute_digest(contest.conn, contest.season.id, version)
    assert again == standing_versions.get_version(contest.conn, contest.season.id, version).digest
    assert fitting.seasons_to_fit(contest.conn) == []


def test_teams_with_equal_bundles_share_one_place(contest: Contest) -> None:
    first, third, fourth, fifth = (contest.active() for _ in range(4))
    twins = [contest.active(content="the same bytes") for _ in range(2)]
    for twin in twins:
        play(contest, [first, twin, third, fourth], 30)
        play(contest, [twin, third, fourth, fifth], 10)
    refit(contest)
    rows = board(contest)
    assert [(row.rank, row.medal) for row in rows] == [
        (1, Medal.GOLD),
        *[(2, Medal.SILVER)] * 2,
        (3, Medal.BRONZE),
        (4, None),
        (5, None),
    ]
    assert {row.entry_id for row in rows[1:3]} == set(twins)
    assert rows[1].official == rows[2].official
    assert standing_versions.get_version(contest.conn, contest.season.id, 1).teams == 5


def test_a_seal_needs_several_agreeing_standings(contest: Contest, four: list[EntryId]) -> None:
    turn(contest, "locked")
    sealed = []
    for games in (60, 1, 2, 3, 1):  # a twentieth before 67 results are 63, and before those 60
        play(contest, four, games, seed=3)
        refit(contest)
        refit(contest)
        sealed.append(len(medals.sealed_medals_of_season(contest.conn, contest.season.id)))
    assert sealed == [0, 0, 0, 0, 3]


@pytest.mark.parametrize("seats", [2, 3, 5, 8])
def test_at_the_lock_every_valid_team_counts_for_medals(conn: Connection, seats: int) -> None:
    contest = make_contest(conn, seats=seats)
    field = [contest.active() for _ in range(2 * seats)]
    for start in (0, seats):
        contest.play(contest.rated(*field[start : start + seats]), list(range(1, seats + 1)))
    while live_ratings.rate_season(conn, contest.season.id):
        pass
    turn(contest, "locked")
    refit(contest)
    query = "select medal_teams from seasons where id = %s"
    assert conn.execute(query, (contest.season.id,)).fetchone() == (2 * seats,)
    scores = [row.official.score for row in board(contest) if row.official]
    cuts = MedalRules().cuts(2 * seats)
    for row in board(contest):
        assert row.official is not None
        ahead = sum(score > row.official.score for score in scores)
        earned = next((medal for medal, cut in zip(Medal, cuts, strict=True) if ahead < cut), None)
        assert row.medal is earned
