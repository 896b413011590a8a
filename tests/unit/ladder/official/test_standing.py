"""The standing drawn up from a fit: who ranks, by which scale, with which chances."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ladder.ids import EntryId, TeamId
from ladder.official.fit import Fit, Prior, fit
from ladder.official.games import Games
from ladder.official.standing import PARENT_SD, Entrant, Standing, draw_up


def fitted(mu: list[float], sigma: float = 0.2) -> Fit:
    """A fit that came to these means."""
    empty = fit(Games.none(), Prior.unknown(len(mu)))
    spread = np.full(len(mu), sigma)
    return replace(empty, mu=np.array(mu), sigma=spread, shown_sigma=spread, centre=0.0, spread=1.0)


def entrant(number: int, contender: int | None = None, **changes: object) -> Entrant:
    terms: dict[str, object] = {
        "entry_id": EntryId(f"ent_{number:04d}"),
        "team_id": TeamId(f"tea_{number:04d}"),
        "contender": number if contender is None else contender,
        "parent": -1,
        "is_anchor": False,
    }
    return Entrant(**{**terms, **changes})  # type: ignore[arg-type]


def drawn(of: Fit, entrants: list[Entrant], seed: int = 7) -> Standing:
    return draw_up(of, entrants, mu0=600.0, beta=150.0, seed=seed, boundary_weight=0.03)


def test_a_beta_is_as_many_points_as_the_season_says_and_the_centre_stands_at_its_start() -> None:
    standing = drawn(fitted([1.0, 0.0, -2.0]), [entrant(n) for n in range(3)])
    assert [place.score for place in standing.places] == [750.0, 600.0, 300.0]
    assert [place.sigma for place in standing.places] == pytest.approx([30.0] * 3)
    assert [place.rank for place in standing.places] == [1, 2, 3]


def test_reference_agents_pin_the_scale_and_have_no_rank() -> None:
    field = [entrant(0), entrant(1), entrant(2, is_anchor=True), entrant(3, is_anchor=True)]
    standing = drawn(fitted([1.0, 0.0, 2.0, -1.0]), field)
    assert standing.reference == 0.5
    assert [place.score for place in standing.places] == [675.0, 525.0, 825.0, 375.0]
    assert [place.rank for place in standing.places] == [1, 2, None, None]


def test_a_team_ranks_once_by_its_best_that_has_played() -> None:
    team = TeamId("tea_same")
    field = [
        entrant(0, team_id=team),
        entrant(1, team_id=team),
        entrant(2, contender=-1, parent=1, team_id=team),
        entrant(3, contender=2),
    ]
    standing = drawn(fitted([0.0, 1.0, 0.5]), field)
    assert [place.rank for place in standing.places] == [None, 1, None, 2]
    assert [place.rank_high for place in standing.places][3] == 2  # of two teams, not of four


def test_who_has_not_played_stands_where_its_parent_does_or_at_the_centre_less_sure() -> None:
    field = [entrant(0), entrant(1, contender=-1, parent=0), entrant(2, contender=-1)]
    parent, child, stranger = drawn(fitted([1.5]), field).places
    assert child.score == parent.score
    assert child.sigma == pytest.approx(150 * np.hypot(0.2, PARENT_SD))
    assert (stranger.score, stranger.sigma) == (600.0, 150.0)


def test_equal_bundles_share_everything() -> None:
    field = [entrant(0), entrant(1, contender=0), entrant(2, contender=1)]
    one, two, _ = drawn(fitted([0.1, 0.0], sigma=0.5), field).places
    assert (one.score, one.rank, one.rank_low, one.rank_high, one.chances, one.loss) == (
        two.score,
        two.rank,
        two.rank_low,
        two.rank_high,
        two.chances,
        two.loss,
    )
    assert one.rank == 1


def test_clear_skills_leave_no_doubt_and_equal_ones_an_even_chance() -> None:
    clear = drawn(
        fitted([float(n) for n in range(10)], sigma=0.01), [entrant(n) for n in range(10)]
    )
    assert [place.rank for place in clear.places] == list(range(10, 0, -1))
    assert all(place.rank_low == place.rank == place.rank_high for place in clear.places)
    assert clear.places[9].chances == (1.0, 1.0, 1.0)
    assert clear.wrong_medals == 0.0
    even = drawn(fitted([0.0] * 10, sigma=0.5), [entrant(n) for n in range(10)])
    assert sum(place.chances[0] for place in even.places) == pytest.approx(1.0)
    assert sum(place.chances[2] for place in even.places) == pytest.approx(4.0)
    assert even.places[0].chances[2] == pytest.approx(0.4, abs=0.12)


def test_the_same_seed_draws_the_same_and_an_empty_field_is_no_trouble() -> None:
    of, field = fitted([0.3, 0.1, 0.0], sigma=0.4), [entrant(n) for n in range(3)]
    assert drawn(of, field) == drawn(of, field)
    assert drawn(of, field) != drawn(of, field, seed=8)
    assert drawn(fitted([]), []).places == ()
    assert drawn(fitted([]), [entrant(0, contender=-1)]).places[0].rank is None
