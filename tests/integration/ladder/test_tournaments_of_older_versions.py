"""Tournaments that an older version locked or ended: their results stay, and places are right."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from ladder.database import migrate
from ladder.database.db import Connection
from ladder.errors import Conflict
from ladder.people.records import Viewer
from ladder.tournaments import advance, leaving
from ladder.tournaments.formats import RULES, Key
from ladder.tournaments.summaries import summarize
from tests.integration.ladder.contest import Contest, make_contest
from tests.integration.ladder.cup import Cup, make_cup
from tests.integration.ladder.test_tournament_notices import notices

DOUBLE = {"stages": [{"format": "double_elimination", "reset": False}]}


@pytest.fixture
def duels(conn: Connection) -> Contest:
    return make_contest(conn, seats=2)


def start(contest: Contest, entrants: int, plan: dict[str, Any] | None = None, **terms: Any) -> Cup:
    cup = make_cup(contest, plan, **terms)
    cup.enter(entrants)
    cup.start()
    return cup


def play_by_old_rules(contest: Contest) -> Cup:
    cup = start(contest, 9, DOUBLE)
    contest.conn.execute("update tournaments set course_rules = default")
    cup.play_on()
    return cup


def champion_in_list(cup: Cup) -> str | None:
    (line,) = summarize(cup.contest.conn, Viewer(), [cup.row])
    return line.champion_name


def test_double_elimination_keeps_the_losers_bracket_of_its_lock(duels: Contest) -> None:
    cup = play_by_old_rules(duels)
    assert (cup.row.state, cup.row.champion) == ("finished", 1)
    assert cup.course().get(Key(1, 5, 1)).origins[1].key == Key(1, 4, 2)
    assert (cup.course().finished, cup.course().champion, cup.course().stale) == (True, 1, ())
    leaving.disqualify(duels.conn, cup.id, cup.agent_of(1), None, "a test")
    assert cup.row.champion == cup.course().champion == 2


@pytest.mark.parametrize("format", ["swiss_heats", "knockout_heats"])
def test_an_update_refuses_a_stored_tournament_of_a_removed_format(
    duels: Contest, format: str
) -> None:
    file = dict(migrate.migration_files())["0082_before_refuse_removed_heats.sql"].encode()
    cup = start(duels, 2)
    duels.conn.execute(file)
    duels.conn.execute(
        "update tournaments set plan = jsonb_build_object('stages', jsonb_build_array("
        "jsonb_build_object('format', %s::text)))",
        (format,),
    )
    with pytest.raises(psycopg.errors.RaiseException, match=str(cup.id)):
        duels.conn.execute(file)


def test_lock_fixes_the_present_rules(duels: Contest) -> None:
    assert start(duels, 2).row.course_rules == RULES


def test_a_champion_stays_if_games_do_not_give_the_places(duels: Contest) -> None:
    cup = play_by_old_rules(duels)
    duels.conn.execute("update tournaments set course_rules = %s", (RULES,))
    assert not cup.course().finished
    assert (cup.view().champion, cup.view().no_champion) == (None, None)
    with pytest.raises(Conflict, match="do not give the places"):
        leaving.disqualify(duels.conn, cup.id, cup.agent_of(1), None, "a test")
    assert cup.row.champion == 1


def test_a_champion_that_left_under_an_older_version_is_corrected(duels: Contest) -> None:
    cup = start(duels, 4)
    cup.play_on()
    duels.conn.execute(
        "update tournament_entrants set state = 'disqualified', last_position = %s"
        " where agent_id = %s",
        (cup.row.position, cup.agent_of(1)),
    )
    assert champion_in_list(cup) == cup.view().name(1)
    duels.conn.execute(
        dict(migrate.migration_files())["0041_fill_places_after_leaving.sql"].encode()
    )
    advance.advance_tournaments(duels.conn, cup.turn)
    assert champion_in_list(cup) == cup.view().name(2)
    assert notices(cup, 2)[-1].title.endswith("took place 1 of 4")
    assert advance.advance_tournaments(duels.conn, cup.turn) == {}


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
