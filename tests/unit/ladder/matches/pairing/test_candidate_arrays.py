from __future__ import annotations

from dataclasses import replace

import numpy as np

from ladder.matches.pairing import EncounterCounts
from ladder.matches.pairing.candidate_arrays import CandidateArrays
from ladder.matches.pairing.candidate_table import CandidateTable
from tests.unit.ladder.matches.pairing.candidate_fields import BETA, ladder


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
