from __future__ import annotations

import pytest

from ladder.entries.agents import AgentName, choose_agent
from ladder.errors import Invalid
from ladder.ids import AgentId
from ladder.slugs import slug_of

MISSING = "no such agent"


def known(*names: str) -> list[AgentName]:
    """Agents ``team/agent`` with the ids 0, 1 and so on."""
    made = []
    for number, each in enumerate(names):
        team, _, name = each.partition("/")
        made.append(AgentName(AgentId(str(number)), slug_of(name), name, slug_of(team), team))
    return made


@pytest.mark.parametrize("text", ["team member/goose", "TEAM MEMBER/Goose", "team-member/goose"])
def test_a_team_and_an_agent_are_no_slug_of_another_agent(text: str) -> None:
    agents = known("Team member/goose", "Team rival/team-member-goose")
    assert choose_agent(agents, text, "entrant", MISSING) == "0"
    with pytest.raises(Invalid, match=MISSING):
        choose_agent(agents[1:], text, "entrant", MISSING)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("C", "0"),
        ("c", "0"),
        ("A/C", "0"),
        ("C++", "1"),
        ("Bot 1", "2"),
        ("bot 1", "2"),
        ("b/bot 1", "2"),
        ("Bot-1", "3"),
        ("ready", "4"),
        ("Ready", "5"),
        ("0", "0"),
        ("Über/Goose", "7"),
    ],
)
def test_the_closest_name_is_chosen(text: str, wanted: str) -> None:
    names = ("A/C", "B/C++", "B/Bot 1", "B/Bot-1", "A/ready", "B/Ready", "D/0", "E/Über/Goose")
    agents = known(*names)
    assert choose_agent(agents, text, "entrant", MISSING) == wanted


@pytest.mark.parametrize("text", ["First/swan", "a/b/Goose"])
def test_a_slug_or_a_slash_in_the_name_of_a_team_names_it(text: str) -> None:
    agents = [AgentName(AgentId("1"), "swan", "Goose", "first", "A/B")]
    assert choose_agent(agents, text, "entrant", MISSING) == "1"


@pytest.mark.parametrize(
    ("names", "text", "told"),
    [
        (("A/bar", "B/Bar"), "BAR", r"write TEAM/BAR: several teams have this agent \(A, B\)"),
        (("A/Bot 1", "A/Bot-1"), "bot_1", r"write an id: .*\(Bot 1 of A is 0, Bot-1 of A is 1\)"),
        (("F oo/bar", "F-oo/bar"), "F_oo/bar", r"write an id: .*bar of F oo is 0"),
        (("A/foo-bar", "B/foo-bar"), "Foo/bar", MISSING),
        (("A/goose",), "", MISSING),
        (("A/goose",), "/", MISSING),
        ((), "goose", MISSING),
    ],
)
def test_a_name_of_no_or_several_agents_is_refused(
    names: tuple[str, ...], text: str, told: str
) -> None:
    with pytest.raises(Invalid, match=told) as error:
        choose_agent(known(*names), text, "entrant", MISSING)
    assert error.value.field == "entrant"
