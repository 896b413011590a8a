"""Teams of equal entries share one place by an act of a host, in a real database."""

from __future__ import annotations

from random import Random

import pytest

from ladder.errors import Conflict, Invalid, NotFound
from ladder.ids import EntryId, TeamId
from ladder.leagues import medals
from ladder.leagues.medals import Medal
from ladder.moderation import suspects
from ladder.people import audit_log
from ladder.ratings import fitting, live_ratings
from ladder.ratings.fitting import OfficialFitter
from ladder.standings import leaderboard
from ladder.standings.rank_reasons import rows_of_same_score
from tests.integration.ladder.contest import Contest


@pytest.fixture
def four(contest: Contest) -> list[EntryId]:
    found = [contest.active() for _ in range(4)]
    random = Random(1)
    for _ in range(12):
        order = sorted(range(4), key=lambda n: n + random.gauss(0, 1))
        contest.play(contest.rated(*found), [order.index(n) + 1 for n in range(4)])
    while live_ratings.rate_season(contest.conn, contest.season.id):
        pass
    return found


def team_of(contest: Contest, entry: EntryId) -> TeamId:
    return contest.seat(entry).team_id


def share(contest: Contest, entries: list[EntryId]) -> suspects.SharedPlace:
    teams = [team_of(contest, entry) for entry in entries]
    return suspects.share_place(
        contest.conn, contest.season.id, teams, by=contest.host, reason="copies"
    )


def ranks(contest: Contest, fitter: OfficialFitter) -> dict[EntryId, int | None]:
    fitter.refit(contest.conn, contest.season.id)
    rows = leaderboard.read_board(contest.conn, contest.season.id).rows
    return {row.entry_id: row.rank for row in rows}


def test_a_host_lets_teams_share_a_place_and_separates_them(
    contest: Contest, four: list[EntryId]
) -> None:
    conn, season, fitter = contest.conn, contest.season.id, OfficialFitter()
    before = ranks(contest, fitter)
    assert sorted(map(int, filter(None, before.values()))) == [1, 2, 3, 4]
    made = share(contest, four[:2])
    conn.execute("update seasons set official_at = official_at - interval '2 s'")
    assert season in fitting.seasons_to_fit(conn)
    shared = ranks(contest, fitter)
    assert shared[four[0]] == shared[four[1]] == 1
    assert shared[four[3]] == 3
    assert suspects.list_shared_places(conn, season) == [made]
    ended = suspects.separate(conn, season, made.id, by=contest.host, reason="an error")
    assert ended.separated
    assert suspects.list_shared_places(conn, season) == []
    assert ranks(contest, fitter) == before
    for version in (1, 2, 3):
        told = conn.execute("select digest from standings where version = %s", (version,))
        assert told.fetchone() == (fitting.recompute_digest(conn, season, version),)
    acts = audit_log.list_audits(conn, contest.league.id)
    assert [act.act for act in acts[:2]] == ["separate", "share_place"]


def test_teams_that_share_a_place_name_no_equal_score(
    contest: Contest, four: list[EntryId]
) -> None:
    conn, season, fitter = contest.conn, contest.season.id, OfficialFitter()
    ranks(contest, fitter)
    made = share(contest, four[:2])
    assert suspects.teams_sharing(conn, season, 1) == frozenset()
    ranks(contest, fitter)
    sharing = suspects.teams_sharing(conn, season, 2)
    assert sharing == {team_of(contest, entry) for entry in four[:2]}
    rows = leaderboard.read_board(conn, season).rows
    row = rows.row_of(four[0])
    assert [one.entry_id for one in rows_of_same_score(row, rows, ())] == [four[1]]
    assert rows_of_same_score(row, rows, sharing) == []
    suspects.separate(conn, season, made.id, by=contest.host, reason="an error")
    ranks(contest, fitter)
    assert suspects.teams_sharing(conn, season, 3) == frozenset()


def test_the_teams_may_share_a_place_again(contest: Contest, four: list[EntryId]) -> None:
    conn, season = contest.conn, contest.season.id
    made = share(contest, four[:2])
    with pytest.raises(Conflict, match="shares a place already"):
        share(contest, four[1:3])
    suspects.separate(conn, season, made.id, by=contest.host, reason="an error")
    with pytest.raises(Conflict, match="their own places already"):
        suspects.separate(conn, season, made.id, by=contest.host, reason="again")
    assert share(contest, four[1:3]).id != made.id


def test_a_shared_place_revokes_sealed_medals(contest: Contest, four: list[EntryId]) -> None:
    conn, season = contest.conn, contest.season.id
    ranks(contest, OfficialFitter())
    conn.execute(
        "insert into sealed_medals (season_id, team_id, version, medal, chance)"
        " values (%s, %s, 1, 'gold', 1)",
        (season, team_of(contest, four[0])),
    )
    assert set(medals.sealed_medals_of_season(conn, season).values()) == {Medal.GOLD}
    share(contest, four[1:3])
    assert medals.sealed_medals_of_season(conn, season) == {}


def test_wrong_teams_are_refused(contest: Contest, four: list[EntryId]) -> None:
    with pytest.raises(Invalid, match="different teams"):
        share(contest, [four[0], four[0]])
    _, stranger = contest.team()
    with pytest.raises(Invalid, match="has none"):
        suspects.share_place(
            contest.conn,
            contest.season.id,
            [stranger, team_of(contest, four[0])],
            by=contest.host,
            reason="copies",
        )
    with pytest.raises(NotFound):
        suspects.separate(contest.conn, contest.season.id, "aud_none", by=contest.host, reason="x")


def test_a_small_honest_season_has_no_suspects(contest: Contest, four: list[EntryId]) -> None:
    assert suspects.list_suspects(contest.conn, contest.season.id).version is None
    ranks(contest, OfficialFitter())
    found = suspects.list_suspects(contest.conn, contest.season.id)
    assert (found.version, found.groups, found.favourites) == (1, (), ())
