"""Lists of an agent's matches, if several versions of the agent play in one match."""

from __future__ import annotations

from types import SimpleNamespace

from ladder.matches.match_search import MatchFilter, Outcome
from services.agents.pages import match_row
from services.web.page_rendering import templates
from tests.unit.ladder.matches.test_match_search import AGENT, SCRIM


def test_both_lists_of_an_agents_matches_name_the_same_ending() -> None:
    wanted = MatchFilter(agent_id=AGENT)
    row = match_row(SCRIM, wanted)
    assert row.ending == wanted.ending(SCRIM) == "1st of 4"
    assert [other.seat for other in row.others] == [0, 2, 3]


def test_a_list_keeps_the_verdicts_of_the_agents_other_seats() -> None:
    wanted = MatchFilter(agent_id=AGENT, outcome=Outcome.LOST)
    shown = templates.get_template("parts/match_list.html").render(
        matches=[SCRIM],
        subject=SimpleNamespace(id=AGENT),
        endings={SCRIM.id: wanted.ending(SCRIM)},
        ended={SCRIM.id: wanted.seat_of_player(SCRIM)},
    )
    assert "<strong>4th of 4: error</strong>" in shown
    assert "<span>A</span>" in shown  # the version that timed out
    assert "<span>C</span>" not in shown  # the ending names its fault
