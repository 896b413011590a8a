"""Matching of entries when teams share bundles, and its cost."""

from __future__ import annotations

from itertools import combinations
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ladder.ids import TeamId
from ladder.matches.pairing import Candidate, bipartite_matching, lineups
from ladder.matches.pairing.bipartite_matching import BundleMatching
from ladder.matches.pairing.candidate_arrays import CandidateArrays
from tests.unit.ladder.matches.pairing.candidate_fields import candidate, pair

FIELDS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=10)


def holding(team: int | str, bundle: int | str, number: int) -> Candidate:
    return candidate(number, team_id=TeamId(f"tea_{team}"), digest=f"digest {bundle}")


def is_legal(lineup: list[Candidate]) -> bool:
    teams = {each.team_id for each in lineup}
    return len(teams) == len({each.digest for each in lineup}) == len(lineup)


@given(FIELDS, st.integers(2, 4), st.integers(0, 99))
def test_exactly_the_seatable_entries_get_a_lineup(
    held: list[tuple[int, int]], seats: int, seed: int
) -> None:
    field = [holding(team, bundle, n) for n, (team, bundle) in enumerate(held)]
    legal = [
        places
        for places in combinations(range(len(field)), seats)
        if is_legal([field[place] for place in places])
    ]
    holdings = BundleMatching(field, seats)
    seatable = holdings.seatable(Random(seed)).tolist()
    assert seatable == [any(n in places for places in legal) for n in range(len(field))]
    for lead in range(len(field)):
        lineup = holdings.complete_lineup(lead, Random(seed))
        assert (lineup is not None) == seatable[lead]
        if lineup is not None:
            assert lineup[0] == lead
            assert tuple(sorted(lineup)) in legal


@pytest.mark.parametrize("crowd", [40, 640])
@pytest.mark.parametrize(
    "rivals",
    [
        ["x", "x", "x"],  # no lineup is possible: one team holds all bundles but one
        ["x", "x", "y", "z"],  # all are possible
        ["x", "y", "own 0"],  # all of the crowd except the one whose bundle a rival holds
    ],
)
def test_a_large_team_adds_no_search_steps_per_lineup(
    crowd: int, rivals: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: dict[str, int] = {}

    def counted(owner: object, name: str) -> None:
        act = getattr(owner, name)

        def counting(*rest: Any) -> Any:
            looks[name] = looks.get(name, 0) + 1
            return act(*rest)

        monkeypatch.setattr(owner, name, counting)

    counted(CandidateArrays, "may_join")
    counted(lineups, "BundleMatching")
    counted(bipartite_matching, "_rotated")
    field = [
        *(holding("crowd", f"own {n}", n) for n in range(crowd)),
        *(holding(n, bundle, 1000 + n) for n, bundle in enumerate(rivals)),
    ]
    found = pair(field, 20)
    assert (len(found.lineups) == 20) == (len(set(rivals)) > 1)
    assert looks.pop("Holdings", 0) <= 1
    assert sum(looks.values()) <= 40 * 20  # independent of the crowd's size
