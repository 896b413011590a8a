"""Entrants of tournaments whose people delete their accounts."""

from __future__ import annotations

from typing import Any

import pytest

from ladder.database.db import Connection
from ladder.tournaments import advance
from tests.integration.ladder.contest import Contest, make_contest
from tests.integration.ladder.cup import Cup, make_cup


@pytest.fixture
def duels(conn: Connection) -> Contest:
    return make_contest(conn, seats=2)


def start(contest: Contest, entrants: int, plan: dict[str, Any] | None = None, **terms: Any) -> Cup:
    cup = make_cup(contest, plan, **terms)
    cup.enter(entrants)
    cup.start()
    return cup


@pytest.mark.parametrize(("embargo", "champion"), [("hidden", 2), ("public", 1)])
def test_entrant_of_a_deleted_account_leaves_only_before_an_end_that_all_know(
    duels: Contest, embargo: str, champion: int
) -> None:
    cup = start(duels, 4, embargo=embargo)
    cup.play_on()
    team = cup.view().entrant(1).team_id
    duels.conn.execute("update teams set erased_at = now() where id = %s", (team,))
    advance.advance_tournaments(duels.conn, cup.turn)
    assert (cup.row.state, cup.row.champion) == ("finished", champion)
    assert cup.view().entrant(1).state == ("withdrawn" if champion == 2 else "entered")
    assert advance.advance_tournaments(duels.conn, cup.turn) == {}
