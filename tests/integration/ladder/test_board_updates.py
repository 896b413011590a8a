"""A board that is read change by change equals the board that is read whole."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ladder.database import db
from ladder.database.db import Connection
from ladder.entries import declared_entry, entries
from ladder.people import teams, users
from ladder.standings import board_updates
from ladder.standings.board_ranking import Board
from ladder.standings.leaderboard import read_board
from tests.integration.ladder.contest import Contest
from tests.integration.ladder.test_fitting import play, refit

Act = Callable[[Contest], object]


class Field:
    """Four teams on the board; the first has two entries, and its own person."""

    def __init__(self, contest: Contest) -> None:
        self.contest = contest
        self.owner, self.team = contest.team()
        self.strong, self.weak = (contest.active(contest.agent(self.team)) for _ in range(2))
        self.others = [contest.active() for _ in range(3)]
        contest.active(is_anchor=True)
        self.all = [self.strong, *self.others]
        play(contest, self.all, 8)
        refit(contest)

    def play(self) -> None:
        play(self.contest, [*self.others, self.weak], 1)

    def rename(self) -> None:
        viewer = users.viewer_of_user(self.contest.conn, self.owner)
        assert viewer is not None
        teams.rename_team(self.contest.conn, self.team, "A new name", viewer)

    def declare(self) -> None:
        self.declare_entry(declared=True)

    def withdraw(self) -> None:
        self.declare_entry(declared=False)

    def declare_entry(self, *, declared: bool) -> None:
        """Declares the entry that stands for the team no more, as results may leave it."""
        conn, season = self.contest.conn, self.contest.season.id
        if declared:
            db.insert(
                conn,
                "declared_entries",
                season_id=season,
                team_id=self.team,
                entry_id=self.weak,
                declared_by=self.owner,
            )
            conn.execute("update seasons set revision = revision + 1, official_is_stale = true")
        else:
            declared_entry.declare_entry(conn, season, self.team, None, self.owner)

    def retire(self) -> None:
        entries.retire_entry(self.contest.conn, self.strong)

    def enter(self) -> None:
        self.contest.active(self.contest.agent(self.team))
        self.contest.active()

    def pause(self) -> None:
        self.contest.conn.execute(
            "update entries set state = 'paused', pause_cause = 'unreachable', paused_at = now()"
            " where id = %s",
            (self.strong,),
        )

    def change_medals(self) -> None:
        self.contest.conn.execute(
            """update seasons set medals = '{"kind": "counts", "gold": 1, "silver": 1,"""
            """ "bronze": 1}' where id = %s""",
            (self.contest.season.id,),
        )

    def fit(self) -> None:
        refit(self.contest)


def next_board(contest: Contest, before: Board | None) -> Board:
    return board_updates.read_next_board(contest.conn, before, contest.season.id, least=0)


def test_each_change_of_a_board_is_found(contest: Contest) -> None:
    field = Field(contest)
    board = next_board(contest, None)
    for act in (
        *(field.play, field.rename, field.declare, field.play, field.withdraw, field.enter),
        *(field.pause, field.change_medals, field.play, field.retire, field.fit, field.play),
    ):
        act()
        board = next_board(contest, board)
        whole = read_board(contest.conn, contest.season.id)
        assert board == whole, act.__name__
        assert board.rows.ranked == sum(row.rank is not None for row in whole.rows)


def test_a_change_commits_after_the_board_was_read(contest: Contest, database_url: str) -> None:
    field = Field(contest)
    with Connection.connect(database_url) as late:
        late.execute("update entries set mu = mu + 500 where id = %s", (field.strong,))
        field.play()
        board = next_board(contest, None)
        late.commit()
    field.play()
    assert next_board(contest, board) == read_board(contest.conn, contest.season.id)


def test_an_update_does_not_read_the_whole_board(
    contest: Contest, monkeypatch: pytest.MonkeyPatch
) -> None:
    field = Field(contest)
    board = next_board(contest, None)
    monkeypatch.setattr(board_updates, "read_board", None)
    for act in (field.play, field.rename, field.declare, field.retire):
        act()
        board = next_board(contest, board)
    monkeypatch.undo()
    assert board == read_board(contest.conn, contest.season.id)
