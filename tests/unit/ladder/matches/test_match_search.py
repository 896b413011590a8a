"""The seat that a filter is about, if an agent has several seats in a match."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ladder.enums import MatchKind
from ladder.ids import AgentId, SubmissionId
from ladder.matches.match_search import MatchFilter, Outcome, SeatVerdict
from tests.unit.ladder.matches.test_match_titles import match, seat

AGENT = AgentId("A")
SCRIM = match(
    [],
    seats=(
        seat(0, 3, "TIMEOUT"),
        replace(seat(1, 1), agent_id=AGENT),
        replace(seat(2, 4, "ERROR"), agent_id=AGENT),
        seat(3, 2),
    ),
)
"""Three seats are of versions of one agent."""


@pytest.mark.parametrize(
    ("wanted", "number"),
    [
        (MatchFilter(agent_id=AGENT), 1),
        (MatchFilter(agent_id=AGENT, outcome=Outcome.WON), 1),
        (MatchFilter(agent_id=AGENT, outcome=Outcome.LOST), 2),
        (MatchFilter(agent_id=AGENT, seat=0), 0),
        (MatchFilter(agent_id=AGENT, verdict=SeatVerdict.TIMEOUT), 0),
        (MatchFilter(agent_id=AGENT, submission_id=SubmissionId("C")), 2),
    ],
)
def test_the_seat_of_a_filter_meets_all_its_conditions(wanted: MatchFilter, number: int) -> None:
    found = wanted.seat_of_player(SCRIM)
    assert found is not None
    assert found.seat == number


def test_the_seat_of_a_validation_is_a_failed_copy() -> None:
    copies = tuple(replace(seat(number, 1), agent_id=AGENT) for number in range(3))
    tried = match(
        [], kind=MatchKind.VALIDATION, seats=(*copies, replace(seat(3, 4, "ERROR"), agent_id=AGENT))
    )
    found = MatchFilter(agent_id=AGENT).seat_of_player(tried)
    assert found is not None
    assert found.verdict == "ERROR"
