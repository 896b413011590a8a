"""Agents that leave a tournament after its end: places, champion and notices are corrected."""

from __future__ import annotations

from typing import Any

import pytest

from ladder.database.db import Connection
from ladder.enums import Embargo
from ladder.errors import Conflict
from ladder.people.records import Viewer
from ladder.tournaments import course_acts, rejudgements
from ladder.tournaments.views import summarize
from tests.integration.ladder.contest import Contest, make_contest
from tests.integration.ladder.cup import Cup, make_cup, worse_seed_wins
from tests.integration.ladder.test_tournament_notices import kinds, notices


@pytest.fixture
def duels(conn: Connection) -> Contest:
    return make_contest(conn, seats=2)


def play_four(contest: Contest, **terms: Any) -> Cup:
    cup = make_cup(contest, **terms)
    cup.enter(4)
    cup.start()
    cup.play_on()
    return cup


def disqualify(cup: Cup, *numbers: int) -> None:
    for number in numbers:
        course_acts.disqualify(cup.contest.conn, cup.id, cup.agent_of(number), None, "a test")


def test_disqualified_champion_gives_its_place_to_the_next(duels: Contest) -> None:
    cup = play_four(duels)
    assert cup.row.champion == 1
    ended_at = cup.row.finished_at
    disqualify(cup, 1)
    assert (cup.row.state, cup.row.champion, cup.row.finished_at) == ("finished", 2, ended_at)
    assert cup.course().ranking == (2, 3, 4, 1)
    assert [line.entrant for line in cup.view().standings(1)] == [2, 3, 4, 1]
    assert [one.champion_name for one in summarize(duels.conn, Viewer(), [cup.row])] == [
        cup.view().name(2)
    ]
    assert cup.advance() == 0
    assert cup.row.champion == 2


def test_teams_get_notices_of_corrected_places(duels: Contest) -> None:
    cup = play_four(duels)
    disqualify(cup, 1)
    assert [kinds(cup, number).count("place") for number in (1, 2, 3, 4)] == [2, 2, 2, 2]
    first, second = notices(cup, 2)[-1], notices(cup, 1)[-1]
    assert first.title.endswith("took place 1 of 4")
    assert "The places were corrected: this agent had place 2." in first.text
    assert second.title.endswith("took place 4 of 4")
    assert "Agents that were disqualified stand behind all that stayed." in second.text
    disqualify(cup, 4)
    assert kinds(cup, 2).count("place") == 2


def test_nobody_is_champion_if_all_left(duels: Contest) -> None:
    cup = play_four(duels)
    disqualify(cup, 1, 2, 3, 4)
    assert cup.row.champion is None
    (line,) = summarize(duels.conn, Viewer(), [cup.row])
    assert line.no_champion == "all agents withdrew or were disqualified"
    assert "There is no champion, as all agents left." in notices(cup, 1)[-1].text


def test_new_results_after_the_end_correct_announced_places(duels: Contest) -> None:
    cup = make_cup(duels)
    cup.enter(2)
    cup.start()
    cup.play_on()
    rejudgements.rejudge_pairing(duels.conn, cup.id, "1.1.1", None, "a test")
    for one in cup.open_games():
        duels.play(one.match_id, worse_seed_wins(one))
    cup.advance()
    rejudgements.apply_rejudgement(duels.conn, cup.id, "1.1.1", None)
    cup.advance()
    cup.play_on()
    assert cup.row.champion == 2
    assert notices(cup, 2)[-1].title.endswith("took place 1 of 2")


def test_hidden_disqualification_is_announced_with_the_results(duels: Contest) -> None:
    cup = play_four(duels, embargo="hidden")
    disqualify(cup, 1)
    (line,) = summarize(duels.conn, Viewer(), [cup.row])
    assert (line.state, line.champion_id, line.no_champion) == ("running", None, None)
    assert [kinds(cup, number) for number in (1, 2)] == [["pairing"]] * 2
    course_acts.reveal(duels.conn, cup.id, Embargo.PUBLIC, None)
    assert notices(cup, 2)[-1].title.endswith("took place 1 of 4")
    assert notices(cup, 1)[-1].title.endswith("took place 4 of 4")


def test_withdrawal_before_the_public_end_loses_the_championship(duels: Contest) -> None:
    cup = play_four(duels, embargo="hidden")
    course_acts.withdraw(duels.conn, cup.id, cup.agent_of(1), None)
    assert cup.row.champion == 2


def test_teams_cannot_withdraw_after_a_public_end(duels: Contest) -> None:
    cup = play_four(duels)
    with pytest.raises(Conflict, match="the tournament is finished: no agent can be withdrawn"):
        course_acts.withdraw(duels.conn, cup.id, cup.agent_of(1), None)


def test_nobody_is_disqualified_in_a_cancelled_tournament(duels: Contest) -> None:
    cup = make_cup(duels)
    cup.enter(2)
    course_acts.cancel_tournament(duels.conn, cup.id, None, "a test")
    with pytest.raises(Conflict, match="the tournament is cancelled"):
        course_acts.disqualify(duels.conn, cup.id, cup.agents[0], None, "a test")
