"""Official standings in a real database: due times, content, and the chain of versions."""

from __future__ import annotations

from dataclasses import replace
from math import log
from random import Random

import pytest

from ladder.entries import entries
from ladder.errors import Conflict, NotFound
from ladder.ids import EntryId
from ladder.leagues import seasons
from ladder.ratings import fitting, live_ratings, standing_versions
from ladder.ratings.fitting import OfficialFitter
from ladder.ratings.official.season_suspects import RECOVERY
from ladder.ratings.season_log import SeasonLog
from ladder.standings import leaderboard
from ladder.standings.rank_reasons import has_same_scores, rows_of_same_score
from tests.integration.ladder.contest import Contest, make_contest


@pytest.fixture
def four(contest: Contest) -> list[EntryId]:
    return [contest.active() for _ in range(4)]


def play(contest: Contest, lineup: list[EntryId], games: int, seed: int = 1) -> None:
    """That many games in which earlier seats of the lineup mostly do better."""
    random = Random(seed)
    for _ in range(games):
        order = sorted(range(4), key=lambda n: n + random.gauss(0, 1))
        contest.play(contest.rated(*lineup), [order.index(n) + 1 for n in range(4)])
    rate(contest)


def rate(contest: Contest) -> None:
    while live_ratings.rate_season(contest.conn, contest.season.id):
        pass


def earlier(contest: Contest, seconds: float) -> None:
    """Move the last fit this far into the past."""
    contest.conn.execute(
        "update seasons set official_at = official_at - make_interval(secs => %s) where id = %s",
        (seconds, contest.season.id),
    )


def refit(contest: Contest, fitter: OfficialFitter | None = None) -> int:
    return (fitter or OfficialFitter()).refit(contest.conn, contest.season.id)


def test_the_first_fit_is_due_with_the_first_result(contest: Contest, four: list[EntryId]) -> None:
    assert fitting.seasons_to_fit(contest.conn) == []
    play(contest, four, 1)
    assert fitting.seasons_to_fit(contest.conn) == [contest.season.id]
    assert refit(contest) == 1
    assert fitting.seasons_to_fit(contest.conn) == []


def test_a_fit_is_due_after_enough_results_or_ten_seconds(
    contest: Contest, four: list[EntryId]
) -> None:
    play(contest, four, 30)
    refit(contest)
    play(contest, four, 1)
    assert fitting.seasons_to_fit(contest.conn) == []
    earlier(contest, 5)
    assert fitting.seasons_to_fit(contest.conn) == []
    play(contest, four, 1)
    assert fitting.seasons_to_fit(contest.conn) == [contest.season.id]
    refit(contest)
    play(contest, four, 1)
    earlier(contest, 11)
    assert fitting.seasons_to_fit(contest.conn) == [contest.season.id]


def test_retiring_an_entry_makes_a_fit_due(contest: Contest, four: list[EntryId]) -> None:
    play(contest, four, 5)
    fitter = OfficialFitter()
    refit(contest, fitter)
    earlier(contest, 2)
    assert fitting.seasons_to_fit(contest.conn) == []
    entries.retire_entry(contest.conn, four[3])
    assert fitting.seasons_to_fit(contest.conn) == [contest.season.id]
    refit(contest, fitter)
    found = standing_versions.latest_version(contest.conn, contest.season.id)
    assert found is not None
    version, places = found
    assert (version.version, version.parent) == (2, 1)
    assert set(places) == set(four[:3])
    seasons.set_season_state(contest.conn, contest.season.id, "finished")
    assert fitting.seasons_to_fit(contest.conn) == [contest.season.id]
    refit(contest, fitter)
    assert standing_versions.get_version(contest.conn, contest.season.id, 3).parent is None
    assert fitting.seasons_to_fit(contest.conn) == []


def test_better_entries_rank_higher(contest: Contest, four: list[EntryId]) -> None:
    play(contest, four, 60)
    refit(contest)
    found = standing_versions.latest_version(contest.conn, contest.season.id)
    assert found is not None
    places = [found[1][entry] for entry in four]
    assert [place.rank for place in places] == [1, 2, 3, 4]
    for place in places:
        assert place.rank is not None
        assert place.rank_low <= place.rank <= place.rank_high
        assert 0 <= place.chances[0] <= place.chances[1] <= place.chances[2] <= 1
    assert found[0].log_no == 60


def test_the_board_ranks_by_the_official_score(contest: Contest, four: list[EntryId]) -> None:
    play(contest, four, 20)
    before = leaderboard.read_board(contest.conn, contest.season.id)
    assert before.fitted is None
    assert all(row.official is None for row in before.rows)
    refit(contest)
    board = leaderboard.read_board(contest.conn, contest.season.id)
    assert board.revision == before.revision + 1
    assert board.fitted is not None
    assert (board.fitted.version, board.fitted.log_no, board.accepted_no) == (1, 20, 20)
    shown = [row.score_and_sigma[0] for row in board.rows]
    assert shown == sorted(shown, reverse=True)
    assert [row.rank for row in board.rows] == [1, 2, 3, 4]
    assert {row.entry_id: row.score for row in board.rows} == {
        row.entry_id: row.score for row in before.rows
    }
    newcomer = contest.active()
    last = leaderboard.read_board(contest.conn, contest.season.id).rows[-1]
    assert (last.entry_id, last.official, last.rank) == (newcomer, None, None)


def test_reference_agents_stand_at_the_start_value_in_both_layers(contest: Contest) -> None:
    anchors = [contest.active(is_anchor=True) for _ in range(2)]
    others = [contest.active() for _ in range(2)]
    play(contest, [*others, *anchors], 30)
    refit(contest)
    board = leaderboard.read_board(contest.conn, contest.season.id)
    pinned = [row for row in board.rows if row.is_anchor]
    assert sum(row.score_and_sigma[0] for row in pinned) / 2 == pytest.approx(600)
    assert sum(row.score for row in pinned) / 2 == pytest.approx(600)
    assert all(row.rank is None and row.medal is None for row in pinned)


def test_equal_bundles_count_as_one_contender(contest: Contest) -> None:
    twins = [contest.active(content="the same bytes") for _ in range(2)]
    others = [contest.active() for _ in range(3)]
    play(contest, [twins[0], *others], 10)
    play(contest, [*others[:2], twins[1], others[2]], 10, seed=2)
    refit(contest)
    found = standing_versions.latest_version(contest.conn, contest.season.id)
    assert found is not None
    one, two = (found[1][entry] for entry in twins)
    assert (one.score, one.sigma, one.rank, one.chances) == (
        two.score,
        two.sigma,
        two.rank,
        two.chances,
    )
    rows = leaderboard.read_board(contest.conn, contest.season.id).rows
    for own, other in (twins, twins[::-1]):
        found_rows = rows_of_same_score(rows.row_of(own), rows, ())
        assert [row.entry_id for row in found_rows] == [other]
    assert rows_of_same_score(rows.row_of(others[0]), rows, ()) == []
    assert has_same_scores(rows, ())
    assert not has_same_scores([row for row in rows if row.entry_id != twins[1]], ())


def test_reference_agents_with_equal_bundles_have_the_same_score(contest: Contest) -> None:
    twins = [contest.active(is_anchor=True, content="the same bytes") for _ in range(2)]
    other = contest.active(is_anchor=True)
    players = [contest.active() for _ in range(3)]
    play(contest, [*players, twins[0]], 10)
    play(contest, [*players[:2], other, twins[1]], 10, seed=2)
    new = [contest.active(is_anchor=True) for _ in range(2)]
    refit(contest)
    rows = leaderboard.read_board(contest.conn, contest.season.id).rows
    for own, equal in (twins, twins[::-1]):
        found = rows_of_same_score(rows.row_of(own), rows, ())
        assert [row.entry_id for row in found] == [equal]
    for own in (other, *new):
        assert rows_of_same_score(rows.row_of(own), rows, ()) == []
    assert has_same_scores(rows, ())
    assert not has_same_scores([row for row in rows if row.entry_id != twins[1]], ())


def test_entries_before_their_first_game_name_no_equal_score(
    contest: Contest, four: list[EntryId]
) -> None:
    new = [contest.active() for _ in range(3)]
    play(contest, four, 10)
    refit(contest)
    rows = leaderboard.read_board(contest.conn, contest.season.id).rows
    found = [rows.row_of(entry) for entry in new]
    assert len({row.official.score for row in found if row and row.official}) == 1
    assert [rows_of_same_score(row, rows, ()) for row in found] == [[], [], []]
    assert not has_same_scores(rows, ())
    contest.play(contest.rated(*new, four[0]), [1, 2, 3, 4])
    rate(contest)
    rows = leaderboard.read_board(contest.conn, contest.season.id).rows
    assert rows_of_same_score(rows.row_of(new[0]), rows, ()) == [], "no fit has its game yet"


def test_a_new_entry_starts_with_the_score_of_its_predecessor(contest: Contest) -> None:
    agent = contest.agent()
    old = contest.active(agent)
    others = [contest.active() for _ in range(3)]
    play(contest, [old, *others], 40)
    new = contest.active(agent)
    refit(contest)
    found = standing_versions.latest_version(contest.conn, contest.season.id)
    assert found is not None
    assert found[1][new].score == found[1][old].score
    assert found[1][new].sigma > found[1][old].sigma
    assert found[1][new].rank is None  # its team declared the entry that has played


def test_every_version_is_recomputed_exactly(contest: Contest, four: list[EntryId]) -> None:
    fitter = OfficialFitter()
    for turn in range(4):
        play(contest, four, 7, seed=turn)
        refit(contest, fitter)
    versions = standing_versions.list_versions(contest.conn, contest.season.id)
    assert [v.version for v in versions] == [4, 3, 2, 1]
    assert [v.parent for v in versions] == [3, 2, 1, None]
    for version in versions:
        again = fitting.recompute_digest(contest.conn, contest.season.id, version.version)
        assert again == version.digest


def test_a_fitter_without_the_latest_version_starts_cold(
    contest: Contest, four: list[EntryId]
) -> None:
    fitter, other = OfficialFitter(), OfficialFitter()
    play(contest, four, 5)
    refit(contest, fitter)
    play(contest, four, 5)
    refit(contest, other)
    play(contest, four, 5)
    refit(contest, fitter)
    versions = standing_versions.list_versions(contest.conn, contest.season.id)
    assert [v.parent for v in versions] == [None, None, None]
    found = fitting.recompute_digest(contest.conn, contest.season.id, 3)
    assert found == versions[0].digest


def test_a_rejudged_result_replaces_the_first_in_the_fit(
    contest: Contest, four: list[EntryId]
) -> None:
    fitter = OfficialFitter()
    wrong = contest.rated(*four)
    contest.play(wrong, [4, 3, 2, 1])
    play(contest, four, 12)
    refit(contest, fitter)
    contest.play(contest.rated(*four, rejudges=wrong), [1, 2, 3, 4])
    rate(contest)
    refit(contest, fitter)
    season = contest.season.id
    found = standing_versions.latest_version(contest.conn, season)
    assert found is not None
    assert found[0].parent is None
    assert fitting.recompute_digest(contest.conn, season, 2) == found[0].digest

    straight = make_contest(contest.conn)
    same = [straight.active() for _ in range(4)]
    straight.play(straight.rated(*same), [1, 2, 3, 4])
    play(straight, same, 12)
    refit(straight)
    other = standing_versions.latest_version(contest.conn, straight.season.id)
    assert other is not None
    for one, two in zip(four, same, strict=True):
        assert found[1][one].score == pytest.approx(other[1][two].score, abs=0.1)


def test_a_log_read_in_parts_equals_a_log_read_at_once(
    contest: Contest, four: list[EntryId]
) -> None:
    play(contest, four, 11)
    whole, parts = SeasonLog(contest.season.id), SeasonLog(contest.season.id)
    assert whole.read(contest.conn, 11) == 11
    while parts.log_no < 11:
        assert parts.read(contest.conn, 11, most=3) in (2, 3)
    assert whole.numbers == parts.numbers
    assert (whole.games.contenders == parts.games.contenders).all()
    assert (whole.games.ranks == parts.games.ranks).all()
    assert parts.read(contest.conn, 11) == 0


def test_the_log_keeps_the_best_seat_of_a_contender(contest: Contest) -> None:
    twins = [contest.active(content="the same bytes") for _ in range(2)]
    others = [contest.active() for _ in range(2)]
    for result in ([3, 1, 2, 4], [1, 1, 2, 3]):
        contest.play(contest.rated(*twins, *others), result)
    contest.play(contest.rated(*others, *twins), [1, 2, 4, 3], ["DONE", "DONE", "ERROR", "DONE"])
    log = SeasonLog(contest.season.id)
    log.read(contest.conn, 3)
    assert log.games.contenders.tolist() == [[-1, 0, 1, 2], [0, -1, 1, 2], [1, 2, -1, 0]]
    assert log.games.ranks.tolist() == [[0, 1, 2, 4], [1, 0, 2, 3], [1, 2, 0, 3]]
    assert not log.games.faults.any()


def test_the_log_leaves_out_void_matches(contest: Contest, four: list[EntryId]) -> None:
    void, other = contest.rated(*four), contest.rated(*four)
    contest.play(void, [1, 2, 3, 4])
    contest.play(other, [4, 3, 2, 1])
    log = SeasonLog(contest.season.id, [void])
    assert log.read(contest.conn, 2) == 1
    assert log.games.ranks.tolist() == [[4, 3, 2, 1]]
    only_void = SeasonLog(contest.season.id, [void])
    assert only_void.read(contest.conn, 1) == 0


@pytest.mark.parametrize(
    ("rule", "faults"), [("kaggle", [False] * 4), ("own_seat", [True, False] * 2)]
)
def test_the_log_has_faults_unless_the_rule_is_that_of_kaggle(
    contest: Contest, four: list[EntryId], rule: str, faults: list[bool]
) -> None:
    contest.conn.execute("update seasons set fault_rule = %s", (rule,))
    contest.play(contest.rated(*four), [1, 2, 3, 4], ["ERROR", "DONE", "TIMEOUT", "DONE"])
    log = SeasonLog(contest.season.id)
    log.read(contest.conn, 1)
    assert log.games.faults.tolist() == [faults]


def test_one_old_version_an_hour_is_kept(contest: Contest, four: list[EntryId]) -> None:
    play(contest, four, 3)
    fitter = OfficialFitter()
    for _ in range(5):
        refit(contest, fitter)
    contest.conn.execute(
        "insert into sealed_medals (season_id, team_id, version, medal, chance)"
        " select season_id, team_id, 2, 'gold', 1.0 from entries where id = %s",
        (four[0],),
    )
    with pytest.raises(Exception, match="never changed"), contest.conn.transaction():
        contest.conn.execute("update standings set digest = 'x'")
    with pytest.raises(Exception, match="never changed"), contest.conn.transaction():
        contest.conn.execute("delete from standings")
    assert standing_versions.drop_old_rows(contest.conn) == 0
    contest.conn.execute("alter table standings disable trigger standings_kept")
    contest.conn.execute(
        "update standings set made_at = date_trunc('hour', now()) - interval '3 h'"
    )
    contest.conn.execute("alter table standings enable trigger standings_kept")
    assert standing_versions.drop_old_rows(contest.conn) == 2
    kept = contest.conn.execute(
        "select version from standings where content is not null order by version"
    ).fetchall()
    assert [row[0] for row in kept] == [1, 2, 5]  # the second sealed a medal
    assert fitting.recompute_digest(contest.conn, contest.season.id, 5)
    with pytest.raises(
        standing_versions.RowsDropped, match=r"the oldest .* is 1, the next after this one 5$"
    ):
        fitting.recompute_digest(contest.conn, contest.season.id, 3)
    with pytest.raises(NotFound):
        fitting.recompute_digest(contest.conn, contest.season.id, 6)


def test_a_version_continues_the_paces_of_the_version_before(
    contest: Contest, four: list[EntryId]
) -> None:
    play(contest, four, 100)
    first = refit(contest)
    found = standing_versions.suspects_of_version(contest.conn, contest.season.id, first)
    assert found.paces_games == 100
    slowed = replace(found, paces={four[0]: 0.5}).to_json()
    contest.conn.execute("alter table standings disable trigger standings_kept")
    contest.conn.execute("update standings set suspects = %s", (slowed,))
    contest.conn.execute("alter table standings enable trigger standings_kept")
    for games, pace in ((1, 0.5), (9, 0.5 + RECOVERY * log(1.1))):
        play(contest, four, games)
        version = refit(contest)
        found = standing_versions.suspects_of_version(contest.conn, contest.season.id, version)
        assert found.paces == {four[0]: pytest.approx(pace)}


def test_a_version_of_an_earlier_method_is_not_computed_again(
    contest: Contest, four: list[EntryId], monkeypatch: pytest.MonkeyPatch
) -> None:
    play(contest, four, 5)
    version = refit(contest)
    assert fitting.recompute_digest(contest.conn, contest.season.id, version)
    monkeypatch.setattr(fitting, "FITTED_BY", fitting.FITTED_BY + 1)
    with pytest.raises(Conflict, match="earlier method"):
        fitting.recompute_digest(contest.conn, contest.season.id, version)
