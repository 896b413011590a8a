"""Disqualifications in a real database: the fit ignores all games of a disqualified entry."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from ladder.database.db import Connection
from ladder.entries import entries
from ladder.entries.records import EntryState
from ladder.entries.team_merges import dissolve_team
from ladder.errors import Conflict, LadderError, NotFound
from ladder.ids import EntryId, TeamId, UserId
from ladder.leagues import medals, seasons
from ladder.leagues.medals import Medal, MedalRuleKind, MedalRules
from ladder.moderation import disqualifications
from ladder.people import audit_log
from ladder.people.records import Viewer
from ladder.privacy import erasing
from ladder.ratings import fitting, live_ratings, standing_versions
from ladder.ratings.fitting import OfficialFitter
from ladder.ratings.season_log import SeasonLog
from ladder.standings import leaderboard
from tests.integration.ladder.contest import Contest, make_contest


@pytest.fixture
def four(contest: Contest) -> list[EntryId]:
    return [contest.active() for _ in range(4)]


def orders(games: int, seed: int = 1) -> list[list[int]]:
    """That many orders of the seats, in which earlier entries mostly do better."""
    random = Random(seed)
    return [sorted(range(4), key=lambda n: n + random.gauss(0, 1)) for _ in range(games)]


def play(contest: Contest, lineup: list[EntryId], games: int, seed: int = 1) -> None:
    for order in orders(games, seed):
        contest.play(contest.rated(*lineup), [order.index(n) + 1 for n in range(4)])
    rate(contest)


def rate(contest: Contest) -> None:
    while live_ratings.rate_season(contest.conn, contest.season.id):
        pass


def out(contest: Contest, subject: str) -> disqualifications.DisqualificationAct:
    return disqualifications.disqualify(
        contest.conn, contest.season.id, subject, by=contest.host, reason="it colludes"
    )


def back(contest: Contest, subject: str) -> disqualifications.DisqualificationAct:
    return disqualifications.reinstate(
        contest.conn, contest.season.id, subject, by=contest.host, reason="it did not"
    )


def scores(contest: Contest, fitter: OfficialFitter | None = None) -> dict[EntryId, float]:
    """Official scores after a new fit."""
    (fitter or OfficialFitter()).refit(contest.conn, contest.season.id)
    found = standing_versions.latest_version(contest.conn, contest.season.id)
    assert found is not None
    return {entry: place.score for entry, place in found[1].items()}


def test_the_fit_ignores_a_disqualified_entry(contest: Contest) -> None:
    four = [contest.active() for _ in range(4)]
    play(contest, four, 30)
    out(contest, four[1])
    rate(contest)
    three = make_contest(contest.conn, seats=3)
    same = [three.active() for _ in range(3)]
    for order in orders(30):
        rest = [n for n in order if n != 1]
        three.play(three.rated(*same), [rest.index(n) + 1 for n in (0, 2, 3)])
    rate(three)
    without, straight = scores(contest), scores(three)
    assert set(without) == {four[0], four[2], four[3]}
    for one, two in zip(same, (four[0], four[2], four[3]), strict=True):
        assert without[two] == pytest.approx(straight[one], abs=1e-6)


def test_a_log_without_a_game_of_anybody_is_read_again_after_a_reinstatement(
    contest: Contest, four: list[EntryId]
) -> None:
    play(contest, four, games=1)
    for entry in four:
        out(contest, entry)
    log = SeasonLog(contest.season.id)
    log.read(contest.conn, seasons.get_season(contest.conn, contest.season.id).accepted_no)
    assert not log.numbers
    back(contest, four[0])
    log.read(contest.conn, seasons.get_season(contest.conn, contest.season.id).accepted_no)
    assert list(log.numbers) == four[:1]


def test_a_disqualification_spares_an_equal_bundle_of_another_team(
    contest: Contest,
) -> None:
    twins = [contest.active(content="the same bytes") for _ in range(2)]
    others = [contest.active() for _ in range(3)]
    play(contest, [twins[0], *others], 10)
    play(contest, [twins[1], *others], 10, seed=2)
    out(contest, twins[0])
    rate(contest)
    log = SeasonLog(contest.season.id)
    log.read(contest.conn, 21)
    assert (log.games.contenders[:10, 0] == -1).all()
    assert (log.games.contenders[10:, 0] == log.numbers[twins[1]]).all()
    assert twins[0] not in log.numbers


def test_the_fit_after_a_disqualification_is_cold(contest: Contest, four: list[EntryId]) -> None:
    fitter, season = OfficialFitter(), contest.season.id
    play(contest, four, 12)
    scores(contest, fitter)
    play(contest, four, 3, seed=2)
    scores(contest, fitter)
    out(contest, four[0])
    assert season in contest_due(contest)
    rate(contest)
    without = scores(contest, fitter)
    back(contest, four[0])
    play(contest, four, 2, seed=3)
    scores(contest, fitter)
    versions = standing_versions.list_versions(contest.conn, season)
    assert [version.parent for version in versions] == [None, None, 1, None]
    for version in versions:
        assert fitting.recompute_digest(contest.conn, season, version.version) == version.digest
    assert set(without) == set(four[1:])


def contest_due(contest: Contest) -> list[str]:
    contest.conn.execute("update seasons set official_at = official_at - interval '2 s'")
    return list(fitting.seasons_to_fit(contest.conn))


def test_a_disqualification_keeps_live_ratings(contest: Contest, four: list[EntryId]) -> None:
    play(contest, four, 5)
    before = {entry: entries.get_entry(contest.conn, entry).mu for entry in four}
    board = leaderboard.read_board(contest.conn, contest.season.id)
    act = out(contest, four[0])
    rate(contest)
    assert act.entries == (four[0],)
    assert {entry: entries.get_entry(contest.conn, entry).mu for entry in four} == before
    now = leaderboard.read_board(contest.conn, contest.season.id)
    assert now.revision > board.revision
    assert {row.entry_id for row in now.rows} == set(four[1:])
    gone = entries.get_entry(contest.conn, four[0])
    assert (gone.state, gone.reason, gone.games) == (
        EntryState.RETIRED,
        "disqualified: it colludes",
        5,
    )
    assert gone.disqualified_at is not None


def test_a_running_match_does_not_count_for_a_disqualified_entry(
    contest: Contest, four: list[EntryId]
) -> None:
    match = contest.rated(*four)
    out(contest, four[2])
    contest.play(match, [1, 2, 3, 4])
    rate(contest)
    log = SeasonLog(contest.season.id)
    log.read(contest.conn, 2)
    assert log.games.contenders.tolist() == [[0, 1, -1, 2]]


def test_a_disqualified_team_may_not_enter(
    contest: Contest,
) -> None:
    _, team = contest.team()
    agents = [contest.agent(team) for _ in range(2)]
    active = [contest.active(agent) for agent in agents]
    waiting = contest.pending(agents[0])
    act = out(contest, team)
    assert set(act.entries) == {*active, waiting}
    with pytest.raises(Conflict, match="this team is disqualified from this season"):
        contest.pending(agents[1])
    with pytest.raises(Conflict, match="already disqualified"):
        out(contest, team)
    back(contest, team)
    states = [entries.get_entry(contest.conn, entry).state for entry in (*active, waiting)]
    assert states == [EntryState.ACTIVE, EntryState.ACTIVE, EntryState.PENDING]
    assert entries.expire_pending(contest.conn) == [waiting]
    contest.pending(agents[1])


def test_a_reinstatement_undoes_only_its_own_disqualification(contest: Contest) -> None:
    contest.conn.execute("update seasons set active_limit = 9")
    _, team = contest.team()
    one, two = (contest.agent(team) for _ in range(2))
    cheat, fair, other = contest.active(one), contest.active(one), contest.active(two)

    def states() -> list[str]:
        found = (entries.get_entry(contest.conn, entry) for entry in (cheat, fair, other))
        return ["out" if entry.disqualified_at else entry.state.value for entry in found]

    out(contest, cheat)
    out(contest, two)
    assert out(contest, team).entries == (fair,)
    assert states() == ["out", "out", "out"]
    assert back(contest, cheat).entries == ()  # its team is still disqualified
    out(contest, cheat)
    with pytest.raises(Conflict, match=f"undo what was done to {cheat}, {team} instead"):
        back(contest, one)
    assert back(contest, team).entries == (fair,)
    assert states() == ["out", "active", "out"]
    with pytest.raises(Conflict, match="this agent is disqualified"):
        contest.pending(two)
    back(contest, two)
    back(contest, cheat)
    assert states() == ["active", "active", "active"]


@pytest.mark.parametrize(
    "end",
    [
        lambda conn, user, team: dissolve_team(conn, team, Viewer(user)),
        lambda conn, user, team: erasing.erase_person(conn, user),
    ],
    ids=["dissolved", "erased"],
)
def test_a_reinstatement_revives_no_entry_of_an_ended_team(
    contest: Contest, end: Callable[[Connection, UserId, TeamId], object]
) -> None:
    user, team = contest.team()
    active, waiting = contest.active(contest.agent(team)), contest.pending(contest.agent(team))
    out(contest, team)
    end(contest.conn, user, team)
    assert set(back(contest, team).entries) == {active, waiting}
    found = [entries.get_entry(contest.conn, entry) for entry in (active, waiting)]
    assert [entry.state for entry in found] == [EntryState.RETIRED] * 2
    assert [entry.disqualified_at for entry in found] == [None, None]


def test_a_reinstated_entry_does_not_replace_a_newer_active_entry(
    contest: Contest,
) -> None:
    contest.conn.execute("update seasons set active_limit = 1")
    agent = contest.agent()
    old = contest.active(agent)
    out(contest, old)
    contest.active(agent)
    back(contest, old)
    found = entries.get_entry(contest.conn, old)
    assert (found.state, found.disqualified_at) == (EntryState.RETIRED, None)


def test_each_act_is_audited_with_its_author(contest: Contest, four: list[EntryId]) -> None:
    first, second = out(contest, four[0]), back(contest, four[0])
    found = audit_log.list_audits(contest.conn, contest.league.id)
    assert [(one.id, one.act, one.subject, one.reason, one.by_user) for one in found] == [
        (second.audit_id, "reinstate", four[0], "it did not", contest.host),
        (first.audit_id, "disqualify", four[0], "it colludes", contest.host),
    ]
    assert found[0].details == {"entries": [four[0]]}
    with pytest.raises(Conflict, match="it is not disqualified"):
        back(contest, four[0])
    with pytest.raises(LadderError, match="give the id of an entry"):
        out(contest, "somebody")
    with pytest.raises(NotFound, match="has no entry in this season"):
        disqualifications.disqualify(
            contest.conn,
            make_contest(contest.conn).season.id,
            four[0],
            by=None,
            reason="elsewhere",
        )
    assert len(audit_log.list_audits(contest.conn, contest.league.id)) == 2


def test_a_disqualification_unseals_the_medals(conn: Connection) -> None:
    contest = make_contest(
        conn, medals=MedalRules(MedalRuleKind.COUNTS, gold=1, silver=1, bronze=1)
    )
    four, fitter, season = [contest.active() for _ in range(4)], OfficialFitter(), contest.season.id
    play(contest, four, 80)
    seasons.set_season_state(conn, season, "finished")
    scores(contest, fitter)
    board = leaderboard.read_board(conn, season).rows
    assert [row.entry_id for row in board] == four
    assert set(medals.sealed_medals_of_season(conn, season)) == {row.team_id for row in board[:3]}
    act = out(contest, four[0])
    assert board[0].team_id not in medals.sealed_medals_of_season(conn, season)
    # A disqualified entry's games affected all others: each medal is judged again.
    assert {seal.audit_id for seal in medals.list_sealed_medals(conn, season)} == {act.audit_id}
    assert medals.sealed_medals_of_season(conn, season) == {}
    rate(contest)
    assert fitting.seasons_to_fit(conn) == [season]
    scores(contest, fitter)
    now = leaderboard.read_board(conn, season).rows
    assert [(row.entry_id, row.medal) for row in now] == list(zip(four[1:], Medal, strict=True))
    back(contest, four[0])
    rate(contest)
    scores(contest, fitter)
    assert leaderboard.read_board(conn, season).rows[0].entry_id == four[0]


def test_a_finished_season_gets_a_new_cold_final_standing(
    contest: Contest, four: list[EntryId]
) -> None:
    fitter = OfficialFitter()
    play(contest, four, 6)
    seasons.set_season_state(contest.conn, contest.season.id, "finished")
    scores(contest, fitter)
    out(contest, four[3])
    rate(contest)
    assert contest.season.id in contest_due(contest)
    assert set(scores(contest, fitter)) == set(four[:3])
    (last, *_) = standing_versions.list_versions(contest.conn, contest.season.id)
    assert last.parent is None
