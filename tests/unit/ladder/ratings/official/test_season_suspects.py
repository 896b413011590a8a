from __future__ import annotations

from dataclasses import replace
from math import log

import numpy as np
import pytest

from ladder.ids import EntryId, TeamId
from ladder.ratings.official import season_suspects
from ladder.ratings.official.equal_groups import EqualGroup
from ladder.ratings.official.fit import fit_season
from ladder.ratings.official.game_table import GameTable
from ladder.ratings.official.representatives import Entrant
from ladder.ratings.official.season_suspects import (
    DOUBTFUL,
    LEAST_PACE,
    RECOVERY,
    SeasonSuspects,
    chance_sureness,
    find_suspects,
)
from tests.unit.ladder.ratings.official.worlds import play


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
    assert found.paces == dict.fromkeys(group.slow, LEAST_PACE)
    assert SeasonSuspects.from_json(found.to_json()) == found
    twin = find_suspects(fit, [*(entrant(n, n) for n in range(160)), entrant(160, 159)])
    assert twin.paces[EntryId("ent_160")] == twin.paces[EntryId("ent_159")]
    equal = find_suspects(fit, [entrant(n, min(n, 100)) for n in range(160)])
    failing = replace(fit, failed=np.where(np.arange(160) < 100, 0, 30))
    assert equal.groups == find_suspects(failing, [entrant(n, n) for n in range(160)]).groups == ()


def test_later_copies_slow_few_of_the_well_known_members() -> None:
    rng = np.random.default_rng(1)
    skill = np.concatenate([rng.standard_normal(100), 1.0 + 0.3 * rng.standard_normal(100)])
    sigma = np.where(np.arange(200) < 100, 0.1, 0.3)
    empty = fit_season(GameTable.empty(), np.full(200, -1, np.int32))
    fit = replace(empty, mu=skill, shown_sigma=sigma, played=np.full(200, 30))
    (group,) = find_suspects(fit, [entrant(n, n) for n in range(200)]).groups
    settled = {EntryId(f"ent_{n:03d}") for n in range(100)}
    assert len(settled.intersection(group.members)) > 20
    assert len(settled.intersection(group.slow)) < 10
    assert len(group.slow) > 80


def test_mature_copies_are_slowed_although_fresh_ones_are_less_known() -> None:
    rng = np.random.default_rng(1)
    sigma = np.repeat([0.2, 0.15, 0.33], [100, 60, 120])
    mu = np.concatenate([rng.standard_normal(100), np.full(180, 1.0)])
    mu += sigma * rng.standard_normal(280)
    empty = fit_season(GameTable.empty(), np.full(280, -1, np.int32))
    fit = replace(empty, mu=mu, shown_sigma=sigma, played=np.full(280, 30))
    (group,) = find_suspects(fit, [entrant(n, n) for n in range(280)]).groups
    mature = {EntryId(f"ent_{n:03d}") for n in range(100, 160)}
    assert len(mature.intersection(group.slow)) > 40


@pytest.mark.parametrize(("share", "pace"), [(0.0, None), (0.5, 0.525), (1.0, LEAST_PACE)])
def test_only_a_sure_group_is_slowed(
    share: float, pace: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    sureness = chance_sureness(4) + share * DOUBTFUL
    group = EqualGroup(0.0, np.arange(4), np.full(4, 0.75), 0.75, sureness)
    monkeypatch.setattr(season_suspects, "find_equal_groups", lambda *_: [group])
    fit = fit_season(play(1, np.zeros(4), 50), np.full(4, -1, np.int32))
    found = find_suspects(fit, [entrant(n, n) for n in range(4)])
    assert len(found.groups[0].slow) == 3
    assert list(found.paces.values()) == [pytest.approx(pace)] * 3 * (pace is not None)


def test_the_pace_of_an_entry_that_left_its_group_rises_as_the_season_grows() -> None:
    left, entrants = EntryId("ent_000"), [entrant(0, -1)]
    slow = SeasonSuspects(paces={left: LEAST_PACE}, paces_games=100)

    def after(games: int) -> SeasonSuspects:
        played = play(1, np.zeros(4), games)
        return find_suspects(fit_season(played, np.full(4, -1, np.int32)), entrants, slow)

    assert after(90).paces == after(104).paces == {left: LEAST_PACE}
    assert (after(104).paces_games, after(110).paces_games) == (100, 110)
    assert after(110).paces == {left: pytest.approx(LEAST_PACE + RECOVERY * log(1.1))}
    assert after(170).paces == {}


def test_an_entry_that_often_fails_is_no_favourite_of_those_it_beats() -> None:
    skill, n = np.linspace(-1.0, 1.0, 12), 12
    games = play(3, skill, 1500)
    failing = games.contenders == n - 1
    faults = failing & (np.random.default_rng(3).random(failing.shape) < 0.6)
    fit = fit_season(GameTable(games.contenders, games.ranks, faults), np.full(n, -1, np.int32))
    assert fit.mu[n - 1] < fit.clean_mu[n - 1] - 0.5
    assert find_suspects(fit, [entrant(each, each) for each in range(n)]).favourites == ()
