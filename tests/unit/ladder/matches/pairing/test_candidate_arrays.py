from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from ladder.matches.pairing import EncounterCounts, LineupTerms, propose_from_table
from ladder.matches.pairing.candidate_arrays import CandidateArrays
from ladder.matches.pairing.candidate_table import CandidateTable
from ladder.matches.pairing.lineups import SEARCH_ROUNDS
from tests.unit.ladder.matches.pairing.candidate_fields import BETA, counted, ladder


def test_partners_of_a_suspect_favourite_are_mostly_stronger_ones_that_it_seldom_met() -> None:
    field = ladder(60)  # in order of rating
    numbers = {each.entry_id: n for n, each in enumerate(field)}
    met = EncounterCounts(numbers, [[30, 50]] * 5)
    table = CandidateTable.from_candidates(field, 2, numbers)
    suspect = replace(table, is_favourite=np.arange(60) == 30)
    arrays = CandidateArrays(suspect, 2, BETA, met)
    places = np.arange(60)
    (likely,) = arrays.partner_weights([30], places[None], arrays.value[None])
    assert likely[40:].sum() > 3 * likely[:20].sum()
    assert likely[50] < 0.3 * likely[51]
    assert likely[30] == 0.0


@pytest.mark.parametrize(("is_open", "least", "most"), [(True, 10, 20), (False, 0, 6)])
def test_a_suspect_favourite_leads_in_turn_while_uploads_are_open(
    is_open: bool, least: int, most: int
) -> None:
    field = ladder(40, loss=0.01)
    field[20] = ladder(40, loss=1e-9)[20]  # its games tell nothing
    table = CandidateTable.from_candidates(field, 4, {})
    suspect = replace(table, is_favourite=np.arange(40) == 20)
    terms = LineupTerms(4, BETA, is_open=is_open)
    made = propose_from_table(
        suspect, terms, lineups=10 * SEARCH_ROUNDS * 40 // 4, rng=Random(1), met=EncounterCounts()
    )
    assert least <= counted(made)["ent_00020"] <= most
