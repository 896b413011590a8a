"""Fields that can fill a match, and anchors that let a season's first agent play."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ladder.ids import TeamId
from ladder.matches.pairing import Candidate, anchors_to_add, shortage_message
from ladder.matches.pairing.candidates import free_anchors, may_share_lineup
from ladder.matches.pairing.lineups import NOBODY_LEADS
from tests.unit.ladder.matches.pairing.candidate_fields import candidate, fields, pair, players

REFERENCE = TeamId("tea_reference")


def anchor(number: int, **changes: object) -> Candidate:
    return candidate(number, is_anchor=True, **{"team_id": REFERENCE, **changes})


def test_two_anchors_and_one_agent_fill_three_of_four_seats() -> None:
    field = [anchor(0), anchor(1), candidate(2)]
    assert (
        shortage_message(field, 4, False) == "3 of 4 seats can be filled: add an agent or an anchor"
    )
    assert pair(field).reason == "3 of 4 seats can be filled: add an agent or an anchor"
    assert pair(field, seats=3).reason is None


def test_anchors_of_one_team_share_a_lineup_with_one_agent() -> None:
    field = [anchor(0), anchor(1), anchor(2), candidate(3)]
    for lineup in players(pair(field, 20)):
        assert sorted(lineup) == sorted(str(each.entry_id) for each in field)


def test_agents_of_one_team_never_share_a_lineup_with_anchors() -> None:
    team = TeamId("tea_x")
    field = [*map(anchor, range(4)), *(candidate(n, team_id=team) for n in range(5, 9))]
    proposal = pair(field, 50)
    assert len(proposal.lineups) == 50
    for lineup in proposal.lineups:
        assert [seat.team_id for seat in lineup].count(team) <= 1


def test_anchor_and_agent_of_one_team_never_share_a_lineup() -> None:
    team = TeamId("tea_host")
    field = [anchor(0, team_id=team), candidate(1, team_id=team), candidate(2)]
    assert pair(field, seats=3).lineups == ()
    assert shortage_message(field, 3, False) == (
        "2 of 3 seats can be filled: add an agent of another team or an anchor,"
        " or let agents of one team meet in a match"
    )


@pytest.mark.parametrize("seats", [2, 4])
def test_each_match_has_an_agent(seats: int) -> None:
    field = [*map(anchor, range(4)), candidate(5)]
    played = players(pair(field, 50, seats=seats))
    assert len(played) == 50
    assert all(candidate(5).entry_id in lineup for lineup in played)


def test_an_agent_without_any_legal_lineup_is_reported() -> None:
    team, digest = candidate(0).team_id, "a copy"
    field = [candidate(0, digest=digest), anchor(1, team_id=team), anchor(2, digest=digest)]
    proposal = pair([*field, anchor(3)], seats=3)
    assert (proposal.lineups, proposal.reason) == ((), NOBODY_LEADS)


def test_anchors_alone_do_not_play() -> None:
    field = [anchor(n) for n in range(4)]
    reason = "4 of 4 seats can be filled, by anchors alone: add an agent"
    assert pair(field).reason == shortage_message(field, 4, False) == reason
    assert shortage_message(field[:1], 1, False) is None


@given(fields(), st.integers(1, 5), st.booleans())
def test_a_field_without_a_shortage_is_paired_if_an_agent_has_a_lineup(
    field: list[Candidate], seats: int, same_team: bool
) -> None:
    lacking = shortage_message(field, seats, same_team)
    if seats > 1:
        proposal = pair(field, seats=seats, same_team_lineups=same_team)
        playing = [each for each in field if each.weight > 0]
        some = any(is_legal(lineup, playing, same_team) for lineup in combinations(playing, seats))
        assert len(proposal.lineups) == some
        assert lacking is None or not some
        if not some:
            assert proposal.reason == (lacking or NOBODY_LEADS)


def is_legal(
    lineup: tuple[Candidate, ...], playing: list[Candidate], same_team_lineups: bool
) -> bool:
    """Whether the rules allow this lineup, and it has an agent."""
    free = free_anchors(playing)
    return any(not each.is_anchor for each in lineup) and all(
        may_share_lineup(one, [other], same_team_lineups, free)
        for one, other in combinations(lineup, 2)
    )


OFFERED = {"random": "r", "greedy": "g", "copy of greedy": "g", "survivor": "s", "searcher": "d"}


def test_a_season_gets_as_many_different_anchors_as_a_match_has_seats() -> None:
    assert anchors_to_add(["g", "s"], OFFERED, 4) == ["random", "searcher"]
    assert anchors_to_add([], OFFERED, 2) == ["random", "greedy"]
    assert anchors_to_add([], OFFERED, 1) == []
    assert anchors_to_add([], OFFERED, 9) == ["random", "greedy", "survivor", "searcher"]
    assert anchors_to_add(["x", "y"], OFFERED, 2) == []


@given(st.sets(st.sampled_from("abcdef"), max_size=6), st.integers(2, 4), st.sampled_from("abcdef"))
def test_copy_of_an_anchor_plays_in_a_filled_season(
    given_by_host: set[str], seats: int, agent: str
) -> None:
    offered = {name: name for name in "abcdef"}
    digests = [*given_by_host, *anchors_to_add(given_by_host, offered, seats)]
    field = [anchor(n, digest=digest) for n, digest in enumerate(digests)]
    assert shortage_message([*field, candidate(99, digest=agent)], seats, False) is None
