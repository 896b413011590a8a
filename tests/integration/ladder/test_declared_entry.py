"""The entry that a team declares as its own for the standings."""

from __future__ import annotations

import pytest

from ladder.entries import declared_entry, entries
from ladder.errors import Conflict
from ladder.leagues import seasons
from ladder.ratings import fitting, standing_versions
from ladder.standings import leaderboard
from ladder.standings.rank_reasons import NoRank, RankReason, why_no_rank
from tests.integration.ladder.contest import Contest
from tests.integration.ladder.test_fitting import play, refit


def test_a_declared_entry_represents_its_team_in_both_layers(
    contest: Contest,
) -> None:
    conn, season = contest.conn, contest.season.id
    owner, team = contest.team()
    strong, weak = (contest.active(contest.agent(team)) for _ in range(2))
    others = [contest.active() for _ in range(3)]
    play(contest, [strong, *others], 20)
    play(contest, [*others, weak], 20)
    refit(contest)

    def stands_by() -> str:
        rows = leaderboard.read_board(conn, season).rows
        return next(row.entry_id for row in rows if row.team_id == team)

    assert stands_by() == strong
    before = seasons.get_season(conn, season).revision
    declared_entry.declare_entry(conn, season, team, weak, owner)
    assert declared_entry.declared_entry_of_team(conn, season, team) == weak
    assert stands_by() == weak
    assert seasons.get_season(conn, season).revision == before + 1
    refit(contest)
    found = standing_versions.latest_version(conn, season)
    assert found is not None
    assert (found[1][strong].rank, found[1][weak].rank) == (None, 4)
    declared_entry.declare_entry(conn, season, team, None, owner)
    refit(contest)
    assert stands_by() == strong
    for version in (1, 2):
        written = standing_versions.get_version(conn, season, version).digest
        assert fitting.recompute_digest(conn, season, version) == written
    declared_entry.declare_entry(conn, season, team, weak, owner)
    entries.retire_entry(conn, weak)
    assert stands_by() == strong


def test_a_team_declares_only_its_own_active_entry(
    contest: Contest,
) -> None:
    conn, season = contest.conn, contest.season.id
    owner, team = contest.team()
    agent = contest.agent(team)
    own, foreign = contest.active(agent), contest.active()
    waiting, anchor = contest.pending(agent), contest.active(agent, is_anchor=True)
    for entry, words in (
        (foreign, "not the team's"),
        (waiting, "this entry is pending"),
        (anchor, "a reference agent cannot represent a team"),
    ):
        with pytest.raises(Conflict, match=words):
            declared_entry.declare_entry(conn, season, team, entry, owner)
    declared_entry.declare_entry(conn, season, team, own, owner)
    seasons.set_season_state(conn, season, "locked")
    with pytest.raises(Conflict, match="locked"):
        declared_entry.declare_entry(conn, season, team, None, owner)
    assert declared_entry.declared_entry_of_team(conn, season, team) == own


def test_an_only_entry_without_games_is_not_represented_by_itself(contest: Contest) -> None:
    conn, season = contest.conn, contest.season
    entry = entries.get_entry(conn, contest.active())
    rows = tuple(leaderboard.read_board(conn, season.id).rows)
    assert [row.entry_id for row in rows] == [entry.id]
    assert why_no_rank(entry, rows) == RankReason(NoRank.UNPLAYED, None)
