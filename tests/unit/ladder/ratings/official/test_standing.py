"""Standings from a given fit."""

from __future__ import annotations

from dataclasses import replace
from statistics import NormalDist
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ladder.ids import EntryId, TeamId
from ladder.leagues.medals import MedalRuleKind, MedalRules
from ladder.ratings.official.fit import Fit
from ladder.ratings.official.learned_priors import CHANGE_DEVIATION
from ladder.ratings.official.representatives import Entrant
from ladder.ratings.official.standing import (
    BOTH_WEIGHT,
    MEDAL_WEIGHT,
    ORDER_GAMES,
    ORDER_WEIGHT,
    OfficialStanding,
    build_standing,
)

GEESE = MedalRules(MedalRuleKind.LINES, 1210.0, 1080.0, 1050.0)


def entrant(number: int, team: int | None = None, **changes: Any) -> Entrant:
    own = number if team is None else team
    terms = {"contender": number, "parent": -1, "is_anchor": False, **changes}
    return Entrant(EntryId(f"ent_{number}"), TeamId(f"tea_{own}"), **terms)


def drawn(
    mu: list[float], entrants: list[Entrant], sigma: float = 0.2, **terms: Any
) -> OfficialStanding:
    fit = SimpleNamespace(
        mu=np.array(mu), shown_sigma=np.full(len(mu), sigma), centre=0.0, spread=1.0
    )
    given_terms = {
        "mu0": 600.0,
        "beta": 150.0,
        "seed": 7,
        "boundary_weight": 1.0,
        "rules": MedalRules(),
    }
    return build_standing(cast(Fit, fit), entrants, **{**given_terms, **terms})


def test_with_score_lines_a_chance_is_the_chance_above_the_line() -> None:
    on_silver = (1080.0 - 600.0) / 150.0
    standing = drawn([on_silver, on_silver - 5, 8.0], [entrant(n) for n in range(3)], rules=GEESE)
    gold, silver, bronze = standing.places[0].chances
    assert silver == pytest.approx(0.5)
    assert gold == pytest.approx(0.0, abs=1e-4)
    assert bronze == pytest.approx(0.8413, abs=1e-3)  # one sigma, 30 points, above
    assert standing.places[1].chances[2] == pytest.approx(0.0)
    assert standing.places[2].chances[0] == pytest.approx(1.0)
    assert standing.places[2].rank == 1


def test_with_score_lines_a_chance_ignores_other_teams() -> None:
    alone = drawn([3.3], [entrant(0)], rules=GEESE)
    among = drawn([3.3, 5.0, 5.0, 5.0], [entrant(n) for n in range(4)], rules=GEESE)
    assert among.places[0].chances == alone.places[0].chances
    assert alone.places[0].loss > drawn([30.0], [entrant(0)], rules=GEESE).places[0].loss


@given(st.lists(st.floats(-3, 6), min_size=1, max_size=12), st.sampled_from([MedalRules(), GEESE]))
def test_a_better_medal_class_is_never_more_likely(mu: list[float], rules: MedalRules) -> None:
    standing = drawn(mu, [entrant(n) for n in range(len(mu))], rules=rules)
    for place in standing.places:
        assert 0 <= place.chances[0] <= place.chances[1] <= place.chances[2] <= 1
    assert 0 <= standing.wrong_medals <= len(mu)


def test_medal_chances_use_the_recorded_number_of_teams() -> None:
    field = [entrant(n) for n in range(8)]
    mu = [8.0 - n for n in range(8)]
    assert drawn(mu, field, 0.01).places[0].chances[0] == 0.0
    assert drawn(mu, field, 0.01, teams=10).places[0].chances[0] == 1.0


def test_the_season_sets_the_points_per_beta() -> None:
    standing = drawn([1.0, 0.0, -2.0], [entrant(n) for n in range(3)])
    assert [place.score for place in standing.places] == [750.0, 600.0, 300.0]
    assert [place.sigma for place in standing.places] == pytest.approx([30.0] * 3)
    assert [place.rank for place in standing.places] == [1, 2, 3]


def test_reference_agents_fix_the_score_scale() -> None:
    field = [entrant(0), entrant(1), entrant(2, is_anchor=True), entrant(3, is_anchor=True)]
    standing = drawn([1.0, 0.0, 2.0, -1.0], field)
    assert standing.reference == 0.5
    assert [place.score for place in standing.places] == [675.0, 525.0, 825.0, 375.0]
    assert [place.rank for place in standing.places] == [1, 2, None, None]


def test_a_team_ranks_once() -> None:
    field = [
        entrant(0, team=9),
        entrant(1, team=9),
        entrant(2, contender=-1, parent=1, team=9),
        entrant(3, contender=2),
    ]
    standing = drawn([0.0, 1.0, 0.5], field)
    assert [place.rank for place in standing.places] == [None, 1, None, 2]
    assert [place.rank_high for place in standing.places][3] == 2  # of two teams, not of four


def test_an_unplayed_entry_starts_at_the_parent_or_the_centre() -> None:
    field = [entrant(0), entrant(1, contender=-1, parent=0), entrant(2, contender=-1)]
    parent, child, stranger = drawn([1.5], field).places
    assert child.score == parent.score
    assert child.sigma == pytest.approx(150 * np.hypot(0.2, CHANGE_DEVIATION))
    assert (stranger.score, stranger.sigma) == (600.0, 150.0)


def test_equal_bundles_share_score_and_rank() -> None:
    field = [entrant(0), entrant(1, contender=0), entrant(2, contender=1)]
    one, two, _ = drawn([0.1, 0.0], field, 0.5).places
    assert (one.score, one.rank, one.rank_low, one.rank_high, one.chances, one.loss) == (
        two.score,
        two.rank,
        two.rank_low,
        two.rank_high,
        two.chances,
        two.loss,
    )
    assert one.rank == 1


def test_equal_bundles_count_as_one_team() -> None:
    mu = [0.3 * n for n in range(10)]
    field = [entrant(n) for n in range(10)]
    copies = [entrant(20 + n, contender=8) for n in range(30)]
    alone, among = drawn(mu, field), drawn(mu, [*field, *copies])
    for one, other in zip(among.places, alone.places, strict=False):
        assert replace(one, loss=other.loss) == other
    assert among.teams == alone.teams == 10
    assert {place.rank for place in among.places[10:]} == {alone.places[8].rank} == {2}


def test_teams_that_tie_by_chance_count_one_by_one() -> None:
    mu, field = [0.5] * 6 + [-0.5] * 4, [entrant(n) for n in range(10)]
    assert drawn(mu, field).teams == 10
    assert drawn(mu, field, equal_scores_count_once=True).teams == 2


def test_teams_that_wait_for_their_first_game_count_for_medals() -> None:
    waiting = {"contender": -1}
    field = [
        entrant(0, bundle="a"),
        entrant(1, bundle="b"),
        entrant(2, bundle="c", **waiting),
        entrant(3, bundle="d", **waiting),
        entrant(4, bundle="d", **waiting),  # the same bytes as the team before
        entrant(5, bundle="a", **waiting),  # a copy of an entry that has played
        entrant(6, team=0, bundle="e", **waiting),  # of a team that has played
        entrant(7, bundle="f", is_anchor=True, **waiting),
    ]
    standing = drawn([1.0, 0.0], field)
    assert standing.teams == 4
    assert [place.rank for place in standing.places] == [1, 2, *[None] * 6]


def test_clear_skill_gaps_leave_no_doubt_about_medals() -> None:
    clear = drawn([float(n) for n in range(10)], [entrant(n) for n in range(10)], 0.01)
    assert [place.rank for place in clear.places] == list(range(10, 0, -1))
    assert all(place.rank_low == place.rank == place.rank_high for place in clear.places)
    assert clear.places[9].chances == (1.0, 1.0, 1.0)
    assert clear.wrong_medals == 0.0
    even = drawn([1e-6 * n for n in range(10)], [entrant(n) for n in range(10)], 0.5)
    assert sum(place.chances[0] for place in even.places) == pytest.approx(1.0)
    assert sum(place.chances[2] for place in even.places) == pytest.approx(4.0)
    assert even.places[0].chances[2] == pytest.approx(0.4, abs=0.12)


def test_the_same_seed_draws_the_same_standing() -> None:
    mu, field = [0.3, 0.1, 0.0], [entrant(n) for n in range(3)]
    assert drawn(mu, field, 0.4) == drawn(mu, field, 0.4)
    assert drawn(mu, field, 0.4) != drawn(mu, field, 0.4, seed=8)
    assert drawn([], []).places == ()
    assert drawn([], [entrant(0, contender=-1)]).places[0].rank is None


def test_teams_that_share_a_place_have_one_rank_and_count_once() -> None:
    field = [entrant(n, shared_place="aud_1" if n in (1, 2) else "") for n in range(4)]
    standing = drawn([3.0, 1.1, 0.9, 0.0], field)
    apart = drawn([3.0, 1.1, 0.9, 0.0], [entrant(n) for n in range(4)])
    assert [place.rank for place in standing.places] == [1, 2, 2, 3]
    assert [place.rank for place in apart.places] == [1, 2, 3, 4]
    assert (standing.teams, apart.teams) == (3, 4)
    one, two = standing.places[1:3]
    assert one == two
    assert one.score == pytest.approx((apart.places[1].score + apart.places[2].score) / 2)
    assert one.sigma == pytest.approx(apart.places[1].sigma / 2**0.5)
    assert standing.places[0].score == apart.places[0].score


def test_a_copy_of_a_bundle_outside_a_shared_place_keeps_its_own() -> None:
    field = [entrant(n, contender=min(n, 1), shared_place="aud_1" * (n < 2)) for n in range(3)]
    standing = drawn([1.0, 0.0], field)
    assert [place.rank for place in standing.places] == [1, 1, 2]


def test_while_uploads_are_open_a_standing_weighs_medals_by_its_own_certainty() -> None:
    entrants = [entrant(n) for n in range(500)]
    mu = [float(n) for n in range(500)]
    unsure = drawn(mu, entrants, sigma=200.0, boundary_weight=None)
    assert unsure.boundary_weight == ORDER_WEIGHT
    nearly = drawn(mu, entrants, sigma=5.0, boundary_weight=None)
    assert nearly.boundary_weight == MEDAL_WEIGHT
    sure = drawn(mu, entrants, sigma=0.01, boundary_weight=None)
    assert sure.boundary_weight == BOTH_WEIGHT
    played = [entrant(n, games=int(ORDER_GAMES)) for n in range(500)]
    late = drawn(mu, played, sigma=200.0, boundary_weight=None)
    assert late.boundary_weight == MEDAL_WEIGHT
    small = drawn(mu[:100], entrants[:100], sigma=20.0, boundary_weight=None)
    assert small.boundary_weight == BOTH_WEIGHT
    waiting = [entrant(n, contender=-1) for n in range(250, 500)]
    begun = drawn(mu[:250], entrants[:250] + waiting, sigma=100.0, boundary_weight=None)
    assert begun.boundary_weight == ORDER_WEIGHT
    fixed = drawn(mu, entrants, sigma=5.0, boundary_weight=MEDAL_WEIGHT)
    assert fixed.places == nearly.places


def test_named_line_is_as_uncertain_as_the_score_of_its_agent() -> None:
    lines = {"kind": "lines", "gold": "survivor+30", "silver": "survivor", "bronze": "survivor"}
    entrants = [entrant(0), entrant(1, is_anchor=True)]
    standing = drawn(
        [0.2, 0.0],
        entrants,
        rules=MedalRules.from_json(lines),
        anchor_names={entrants[1].entry_id: "survivor"},
    )
    assert standing.rules.lines == (630.0, 600.0, 600.0)
    gold, silver, _ = standing.places[0].chances
    assert gold == pytest.approx(0.5)  # on the line
    one_sigma_of_the_difference = 30 / (30 * 2**0.5)
    assert silver == pytest.approx(NormalDist().cdf(one_sigma_of_the_difference))
