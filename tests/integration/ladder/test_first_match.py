"""What a team reads of its first rated match while the leaderboard is older than the match."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from ladder.entries import agents, entries
from ladder.people.records import Viewer
from ladder.ratings import live_ratings
from ladder.standings import leaderboard
from ladder.standings.board_ranking import Board
from services.agents.submission_list import submission_rows
from tests.integration.ladder.contest import Contest


def test_a_rank_follows_until_the_board_counts_the_first_match(contest: Contest) -> None:
    lineup = [contest.active() for _ in range(4)]
    old = leaderboard.read_board(contest.conn, contest.season.id)
    contest.play(contest.rated(*lineup), [1, 2, 3, 4])
    live_ratings.rate_season(contest.conn, contest.season.id)
    new = leaderboard.read_board(contest.conn, contest.season.id)
    assert new.revision > old.revision
    stage, first = _first_match(contest, old)
    assert (stage, first.rank, first.is_on_board) == ("first_match", None, False)
    stage, first = _first_match(contest, new)
    assert (stage, first.is_on_board) == ("", True)
    assert first.rank is not None


def test_a_board_that_counts_the_match_says_who_represents_the_team(contest: Contest) -> None:
    lineup = [contest.active() for _ in range(4)]
    contest.play(contest.rated(*lineup), [4, 3, 2, 1])
    live_ratings.rate_season(contest.conn, contest.season.id)
    known = leaderboard.read_board(contest.conn, contest.season.id)
    contest.play(contest.rated(*lineup), [4, 3, 2, 1])  # the season goes on, the board does not
    live_ratings.rate_season(contest.conn, contest.season.id)
    stage, first = _first_match(contest, known)
    assert (stage, first.is_on_board) == ("", True)


def _first_match(contest: Contest, board: Board) -> tuple[str, Any]:
    """The stage of the first entry's page, and its first match, with this leaderboard."""
    entry = entries.get_entry(contest.conn, contest.entries[0])
    agent = agents.get_agent(contest.conn, entry.agent_id)
    boards = SimpleNamespace(board=lambda *_: board)
    state: Any = SimpleNamespace(boards=boards, settings=SimpleNamespace(redis_url=""))
    team = Viewer(team_ids=frozenset({entry.team_id}))
    values = submission_rows(contest.conn, state, team, agent, [entry])
    return values["stage"], values["entries"][0].first_match
