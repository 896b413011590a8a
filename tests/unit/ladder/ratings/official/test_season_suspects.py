from __future__ import annotations

from dataclasses import replace
from math import exp

import numpy as np

from ladder.ids import EntryId, TeamId
from ladder.ratings.official.game_table import GameTable
from ladder.ratings.official.representatives import Entrant
from ladder.ratings.official.season_fit import fit_season
from ladder.ratings.official.season_suspects import (
    EQUALS,
    LEAST_PACE,
    RECOVERY,
    SeasonSuspects,
    find_suspects,
)


def entrant(number: int, contender: int) -> Entrant:
    return Entrant(EntryId(f"ent_{number:03d}"), TeamId(f"tea_{number}"), contender, -1, False)


def test_copies_with_bytes_of_their_own_are_a_group_unless_they_fail() -> None:
    rng = np.random.default_rng(1)
    skill = np.concatenate([rng.standard_normal(100), 1.0 + 0.13 * rng.standard_normal(60)])
    empty = fit_season(GameTable.empty(), np.full(160, -1, np.int32))
    fit = replace(empty, mu=skill, shown_sigma=np.full(160, 0.13), played=np.full(160, 30))
    copies = {EntryId(f"ent_{n:03d}") for n in range(100, 160)}
    found = find_suspects(fit, [entrant(n, n) for n in range(160)])
    (group,) = found.groups
    assert len(copies.intersection(group.members)) > 50
    oldest = sorted(set(group.members) - set(group.slow))
    assert 1 <= len(oldest) < 20
    assert oldest == sorted(group.members)[: len(oldest)]
    assert found.paces == dict.fromkeys(group.slow, max(LEAST_PACE, 1.0 - EQUALS * group.share))
    assert SeasonSuspects.from_json(found.to_json()) == found
    equal = find_suspects(fit, [entrant(n, min(n, 100)) for n in range(160)])
    failing = replace(fit, failed=np.where(np.arange(160) < 100, 0, 30))
    assert equal.groups == find_suspects(failing, [entrant(n, n) for n in range(160)]).groups == ()


def test_the_pace_of_an_entry_that_left_its_group_rises_as_the_season_grows() -> None:
    left = EntryId("ent_000")
    fit = fit_season(GameTable.empty(), np.full(1, -1, np.int32))
    slow = SeasonSuspects(paces={left: LEAST_PACE})
    entrants = [entrant(0, -1)]
    soon = find_suspects(fit, entrants, slow, growth=1.0)
    assert soon.paces == {left: LEAST_PACE}
    later = find_suspects(fit, entrants, soon, growth=exp(0.2 / RECOVERY))
    assert round(later.paces[left], 6) == LEAST_PACE + 0.2
    assert find_suspects(fit, entrants, later, growth=exp(0.8 / RECOVERY)).paces == {}
    assert find_suspects(fit, entrants, slow).paces == {}
