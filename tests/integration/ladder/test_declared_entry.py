"""The entry that a team declares as its own for the standings."""

from __future__ import annotations

import pytest

from ladder.entries import declared_entry, entries
from ladder.entries.records import EntryState
from ladder.errors import Conflict
from ladder.ids import EntryId, TeamId
from ladder.leagues import seasons
from ladder.ratings import fitting, standing_versions
from ladder.standings import leaderboard
from ladder.standings.rank_reasons import NoRank, RankReason, why_no_rank
from tests.integration.ladder.contest import Contest
from tests.integration.ladder.test_fitting import play, refit


def stands_by(contest: Contest, team: TeamId) -> EntryId:
    rows = leaderboard.read_board(contest.conn, contest.season.id).rows
    return next(row.entry_id for row in rows if row.team_id == team)


def test_a_declared_entry_represents_its_team_until_uploads_lock(
    contest: Contest,
) -> None:
    conn, season = contest.conn, contest.season.id
    owner, team = contest.team()
    strong, weak = (contest.active(contest.agent(team)) for _ in range(2))
    others = [contest.active() for _ in range(3)]
    play(contest, [*others, weak], 20)
    refit(contest)
    assert stands_by(contest, team) == weak
    before = seasons.get_season(conn, season).revision
    declared_entry.declare_entry(conn, season, team, weak, owner)
    assert declared_entry.declared_entry_of_team(conn, season, team) == weak
    assert seasons.get_season(conn, season).revision == before + 1
    play(contest, [strong, *others], 20)
    refit(contest)
    assert stands_by(contest, team) == weak
    found = standing_versions.latest_version(conn, season)
    assert found is not None
    assert (found[1][strong].rank, found[1][weak].rank) == (None, 4)
    with pytest.raises(Conflict, match="another entry stands for the team"):
        declared_entry.declare_entry(conn, season, team, strong, owner)
    seasons.set_season_state(conn, season, "locked")
    assert declared_entry.declared_entry_of_team(conn, season, team) is None
    refit(contest)
    assert stands_by(contest, team) == strong
    for version in (1, 2, 3):
        written = standing_versions.get_version(conn, season, version).digest
        assert fitting.recompute_digest(conn, season, version) == written


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


def test_no_entry_is_withdrawn_after_uploads_lock(contest: Contest) -> None:
    entry = contest.active()
    seasons.set_season_state(contest.conn, contest.season.id, "locked")
    with pytest.raises(Conflict, match="entries on the board stay until the season ends"):
        entries.retire_entry(contest.conn, entry)
    seasons.set_season_state(contest.conn, contest.season.id, "open")
    assert entries.retire_entry(contest.conn, entry).state is EntryState.RETIRED


def test_entries_of_a_team_are_withdrawn_oldest_first(contest: Contest) -> None:
    owner, team = contest.team()
    lucky, unlucky = (contest.active(contest.agent(team)) for _ in range(2))
    others = [contest.active() for _ in range(3)]
    play(contest, [lucky, *others], 20)
    refit(contest)
    declared_entry.declare_entry(contest.conn, contest.season.id, team, lucky, owner)
    play(contest, [*others, unlucky], 20)
    refit(contest)
    assert stands_by(contest, team) == lucky
    with pytest.raises(Conflict, match="an older entry on the board"):
        entries.retire_entry(contest.conn, unlucky)
    entries.retire_entry(contest.conn, lucky)
    assert entries.retire_entry(contest.conn, unlucky).state is EntryState.RETIRED


def test_a_team_that_has_played_declares_nothing_while_no_entry_stands(contest: Contest) -> None:
    conn, season = contest.conn, contest.season.id
    owner, team = contest.team()
    lucky, newest = (contest.active(contest.agent(team)) for _ in range(2))
    others = [contest.active() for _ in range(3)]
    play(contest, [lucky, *others], 20)
    with pytest.raises(Conflict, match="no entry stands for the team now"):
        declared_entry.declare_entry(conn, season, team, newest, owner)
    play(contest, [newest, *others], 20)
    refit(contest)
    assert stands_by(contest, team) == newest
    conn.execute("update entries set state = 'retired' where id = %s", (newest,))
    with pytest.raises(Conflict, match="no entry stands for the team now"):
        declared_entry.declare_entry(conn, season, team, lucky, owner)


def test_an_only_entry_without_games_is_not_represented_by_itself(contest: Contest) -> None:
    conn, season = contest.conn, contest.season
    entry = entries.get_entry(conn, contest.active())
    rows = tuple(leaderboard.read_board(conn, season.id).rows)
    assert [row.entry_id for row in rows] == [entry.id]
    assert why_no_rank(entry, rows) == RankReason(NoRank.UNPLAYED, None)
