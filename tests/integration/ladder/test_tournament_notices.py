"""What teams are told of a tournament, and that no notice comes before its result is public."""

from __future__ import annotations

from typing import Any

import pytest

from ladder.database.db import Connection
from ladder.entries import agents
from ladder.enums import Embargo
from ladder.ids import AgentId, UserId
from ladder.notices import inbox
from ladder.notices.kinds import Notice, NoticeKind, words_of
from ladder.tournaments import course_acts, tournaments
from tests.integration.ladder.contest import Contest, make_contest
from tests.integration.ladder.cup import SINGLE, Cup, make_cup


@pytest.fixture
def duels(conn: Connection) -> Contest:
    return make_contest(conn, seats=2)


def notices(cup: Cup, number: int) -> list[Notice]:
    """Notices of tournaments for the person of this entrant, oldest first."""
    found = inbox.list_notices(cup.contest.conn, person_of(cup, cup.agent_of(number)))
    return [one for one in found if one.kind.startswith("tournament")][::-1]


def person_of(cup: Cup, agent: AgentId) -> UserId:
    team = agents.get_agent(cup.contest.conn, agent).team_id
    row = cup.contest.conn.execute(
        "select user_id from memberships where team_id = %s", (team,)
    ).fetchone()
    assert row is not None
    return UserId(row[0])


def kinds(cup: Cup, number: int) -> list[str]:
    return [one.kind.value.removeprefix("tournament_") for one in notices(cup, number)]


def play_four(contest: Contest, **terms: Any) -> Cup:
    cup = make_cup(contest, **terms)
    cup.enter(4)
    cup.start()
    return cup


def test_teams_are_told_their_pairings_results_and_places_once(duels: Contest) -> None:
    cup = play_four(duels)
    assert [kinds(cup, number) for number in (1, 4)] == [["pairing"], ["pairing"]]
    cup.advance()
    cup.play_on()
    assert kinds(cup, 1) == ["pairing", "result", "pairing", "result", "place"]
    assert kinds(cup, 4) == ["pairing", "result", "place"]
    meets, won, *_, place = notices(cup, 1)
    names = [cup.view().name(number) for number in (1, 4)]
    assert meets.title == f"{names[0]} meets {names[1]}"
    assert won.title == f"{names[0]} won against {names[1]}"
    assert (place.title, place.path) == (f"{names[0]} took place 1 of 4", f"/tournaments/{cup.id}")


def test_notices_name_a_round_as_its_page_does(duels: Contest) -> None:
    swiss = {"format": "swiss", "rounds": 2, "advance": 2}
    cup = play_four(duels, plan={"stages": [swiss, *SINGLE["stages"]]})
    cup.play_on()
    course = cup.view().course
    assert course is not None
    titles = {one.round: one.title for one in course.pairings}
    texts = [one.text for one in notices(cup, 1) if one.kind == "tournament_pairing"]
    assert [titles[1, 1], titles[1, 2], titles[2, 1]] == ["Round 1", "Round 2", "Final"]
    assert texts == [f"{title} in Cup has begun." for title in ("Round 1", "Round 2", "Final")]


def test_a_notice_names_a_later_stage_only_by_a_number() -> None:
    facts = {"agent_name": "A", "league_title": "L", "opponent_name": "B", "tournament_title": "C"}
    details = {"tournament": "trn_1", "stage": 2, "round": 3, "opponent": "age_1"}
    for title, told in (("Round 3", "Round 3 of stage 2"), ("Round of 16", "Round of 16")):
        known = {**facts, "details": {**details, "title": title}}
        assert words_of(NoticeKind.TOURNAMENT_PAIRING, known).text == f"{told} in C has begun."
    old = words_of(NoticeKind.TOURNAMENT_PAIRING, {**facts, "details": details})
    assert old.text == "Round 3 of stage 2 in C has begun."


def test_hidden_results_give_no_notice_before_they_are_revealed(duels: Contest) -> None:
    cup = play_four(duels, embargo="hidden")
    cup.play_on()
    assert [kinds(cup, number) for number in (1, 2, 3, 4)] == [["pairing"]] * 4
    course_acts.reveal(duels.conn, cup.id, Embargo.PUBLIC, None, "1.1.1")
    assert [kinds(cup, number)[1:] for number in (1, 2, 3, 4)] == [["result"], [], [], ["result"]]
    course_acts.reveal(duels.conn, cup.id, Embargo.PUBLIC, None)
    assert kinds(cup, 1)[2:] == ["result", "place"]
    assert kinds(cup, 3)[1:] == ["result", "place"]


def test_a_heat_tells_its_size_and_the_place_in_it(contest: Contest) -> None:
    cup = make_cup(contest, {"stages": [{"format": "heats", "seats": 4, "rounds": 1}]})
    cup.enter(4)
    cup.start()
    cup.play_on()
    name = cup.view().name(2)
    titles = [one.title for one in notices(cup, 2)]
    assert titles[0] == f"{name} plays a heat of 4"
    assert titles[1] == f"{name} took place 2 of 4 in its heat"


def test_agents_with_the_best_reward_are_told_that_the_draw_decided(conn: Connection) -> None:
    cup = make_cup(make_contest(conn, seats=1), {"stages": [{"format": "solo", "games": 1}]})
    cup.enter(3)
    cup.start()
    cup.play_solo_round(worst=3)
    drawn = "Cup in League is over. 2 agents have the best reward. The draw decided their places."
    texts = [notices(cup, number)[-1].text for number in (1, 2, 3)]
    assert texts == [drawn, drawn, "Cup in League is over."]


def test_an_open_registration_is_told_to_the_teams_of_the_league_once(duels: Contest) -> None:
    agent = duels.agent()
    duels.active(agent)
    cup = make_cup(duels, is_draft=True)
    person = person_of(cup, agent)
    before = {one.kind for one in inbox.list_notices(duels.conn, person)}
    assert "tournament_opened" not in before
    tournaments.open_registration(duels.conn, cup.id, None)
    opened = [
        one for one in inbox.list_notices(duels.conn, person) if one.kind == "tournament_opened"
    ]
    assert [one.title for one in opened] == ["Cup takes entries"]
