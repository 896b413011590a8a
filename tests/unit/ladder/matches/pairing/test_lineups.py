"""Lineups: which are legal, which are made, and why some are not."""

from __future__ import annotations

from itertools import combinations
from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ladder.ids import EntryId, TeamId
from ladder.matches.pairing import (
    Candidate,
)
from ladder.matches.pairing.candidates import free_anchors, may_share_lineup
from tests.unit.ladder.matches.pairing.candidate_fields import (
    WHOLE_PATH,
    candidate,
    counted,
    fields,
    ladder,
    pair,
    players,
)


@pytest.mark.parametrize("sampled", [False, True])
@given(fields(), st.integers(0, 8), st.integers(0, 99), st.booleans(), st.integers(2, 4))
def test_every_lineup_is_complete_and_legal(
    sampled: bool, field: list[Candidate], lineups: int, seed: int, same_team: bool, seats: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        if sampled:
            patch.setattr(WHOLE_PATH, 0)
        proposal = pair(field, lineups, seed, same_team_lineups=same_team, seats=seats)
    known = {str(c.entry_id): c for c in field}
    for lineup in players(proposal):
        inside = [known[entry] for entry in lineup]
        assert len({p.entry_id for p in inside}) == seats == len(lineup)
        assert len({(p.digest, p.profile) for p in inside}) == seats
        assert all(p.weight > 0 for p in inside)
        competing = {c.team_id for c in field if c.weight > 0 and not c.is_anchor}
        bound = [p.team_id for p in inside if p.team_id in competing]
        assert same_team or len(set(bound)) == len(bound)


def test_no_lineup_of_a_large_field_has_two_agents_of_a_team() -> None:
    field = [replace(each, team_id=TeamId(f"tea_{n % 5}")) for n, each in enumerate(ladder(1100))]
    team = {str(each.entry_id): each.team_id for each in field}
    found = players(pair(field, 200))
    assert len(found) == 200
    assert all(len({team[entry] for entry in lineup}) == 4 for lineup in found)


# Only two anchors may share a lineup: each shares bundle or team with the competitor.
ANCHORS_ALONE = [
    candidate(0, digest="same", is_anchor=True),
    candidate(1, digest="same", team_id=TeamId("tea_x"), sigma=0.0, loss=0.0, weight=0.1),
    candidate(2, team_id=TeamId("tea_x"), is_anchor=True),
]


@pytest.mark.parametrize("sampled", [False, True])
@settings(max_examples=100)
@example(field=ANCHORS_ALONE, lineups=1, seed=0, same_team=False, seats=2)
@given(fields(), st.integers(1, 8), st.integers(0, 99), st.booleans(), st.integers(2, 4))
def test_every_requested_lineup_is_made_if_one_legal_lineup_exists(
    sampled: bool, field: list[Candidate], lineups: int, seed: int, same_team: bool, seats: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        if sampled:
            patch.setattr(WHOLE_PATH, 0)
        proposal = pair(field, lineups, seed, same_team_lineups=same_team, seats=seats)
    playing = [c for c in field if c.weight > 0]
    free = free_anchors(playing)
    possible = any(
        not all(one.is_anchor for one in lineup)  # a lineup of anchors alone would rate nobody
        and all(
            may_share_lineup(one, [two], same_team, free) for one, two in combinations(lineup, 2)
        )
        for lineup in combinations(playing, seats)
    )
    assert len(proposal.lineups) == (lineups if possible else 0)
    assert (proposal.reason is None) == possible


def test_values_near_zero_do_not_make_a_lead_impossible() -> None:
    # The least value follows from the tiny loss; its share for a slow entry was rounded to 0.
    slow = candidate(0, sigma=0.0, loss=0.0, games=50, pace=0.1)
    anchor = candidate(1, sigma=0.0, loss=2e-315, games=0, weight=0.1, is_anchor=True)
    assert len(pair([slow, anchor], 3, seats=2).lineups) == 3


@settings(max_examples=50)
@given(fields(), st.integers(0, 8), st.integers(0, 99), st.randoms(use_true_random=False))
def test_field_order_does_not_change_the_lineups(
    field: list[Candidate], lineups: int, seed: int, order: Random
) -> None:
    shuffled = order.sample(field, len(field))
    assert pair(field, lineups, seed) == pair(field, lineups, seed) == pair(shuffled, lineups, seed)


def test_a_shortage_of_entries_teams_or_bundles_is_named() -> None:
    four = [candidate(n) for n in range(4)]
    assert pair(four[:3]).reason == "3 of 4 seats can be filled: add an agent or an anchor"
    one_team = [replace(c, team_id=TeamId("tea_x")) for c in four]
    few_teams = pair(one_team)
    assert few_teams.lineups == ()
    assert few_teams.reason is not None
    assert "1 of 4 seats can be filled: add an agent of another team" in few_teams.reason
    assert len(pair(one_team, same_team_lineups=True).lineups) == 1
    equal = [replace(c, digest="same") for c in four]
    assert pair(equal).reason == (
        "1 of 4 seats can be filled: add an agent or an anchor that is not a copy of another"
    )
    assert len(pair(four).lineups) == 1
    assert pair(four).reason is None


def test_teams_sharing_bundles_are_named() -> None:
    shared = [("a", "x"), ("a", "y"), ("a", "z"), ("b", "z"), ("c", "z")]
    field = [
        candidate(n, team_id=TeamId(team), digest=digest) for n, (team, digest) in enumerate(shared)
    ]
    found = pair(field, seats=3)
    assert found.lineups == ()
    assert found.reason is not None
    assert found.reason.startswith("2 of 3 seats can be filled: add an agent of another team")


def test_the_only_possible_lineup_is_found() -> None:
    # In every lineup y must come from b; a random draw could pick c's copy, which conflicts.
    shared = [("a", "x"), ("b", "y"), ("b", "x"), ("c", "y"), ("c", "z")]
    field = [
        candidate(n, team_id=TeamId(team), digest=digest) for n, (team, digest) in enumerate(shared)
    ]
    for seed in range(20):
        assert len(pair(field, 5, seed, seats=3).lineups) == 5


def test_entries_without_a_node_are_left_out_with_a_reason() -> None:
    field = [candidate(n) for n in range(5)] + [candidate(n, profile="torch") for n in (7, 8)]
    proposal = pair(field, 20, admissible={"numpy"})
    assert set(counted(proposal)) == {str(c.entry_id) for c in field[:5]}
    assert proposal.reason is None
    assert proposal.left_out == ("2 active entries wait for a node that serves profile torch",)
    assert pair(field, 20, admissible=["torch"]).reason == (
        "2 of 4 seats can be filled: add an agent or an anchor;"
        " 5 active entries wait for a node that serves profile numpy"
    )
    assert pair(field, 20).left_out == ()


def test_a_large_field_is_paired_from_a_sample() -> None:
    field = [candidate(n, mu=600.0 + n / 10) for n in range(10_000)]
    proposal = pair(field, 32)
    assert len(proposal.lineups) == 32
    assert max(counted(proposal).values()) <= 4


def test_a_tiny_league_repeats_pairs() -> None:
    assert len(pair([candidate(n, in_flight=50) for n in range(4)], 16).lineups) == 16
    two = [candidate(0), *(candidate(n, team_id=TeamId("tea_x")) for n in range(1, 30))]
    assert len(pair(two, 200, seats=2).lineups) == 200


@pytest.mark.parametrize("sampled", [False, True])
@pytest.mark.parametrize("count", [4, 40])
def test_no_entry_gets_more_matches_in_flight_than_its_limit(sampled: bool, count: int) -> None:
    field = ladder(count)
    field[0] = replace(field[0], most_in_flight=4, in_flight=1, games=0, sigma=900.0)
    field[1] = replace(field[1], most_in_flight=1, in_flight=1)
    field[2] = replace(field[2], most_in_flight=4, games=0)
    with pytest.MonkeyPatch.context() as patch:
        if sampled:
            patch.setattr(WHOLE_PATH, 0)
        lineups = players(pair(field, 64, seats=2))
    games = {each.entry_id: 0 for each in field}
    for lineup in lineups:
        for entry in lineup:
            games[EntryId(entry)] += 1
    assert [games[each.entry_id] for each in field[1:2]] == [0]
    assert games[field[0].entry_id] <= 3
    assert games[field[2].entry_id] <= 4
    assert len(lineups) == 64 if count == 40 else len(lineups) > 0
