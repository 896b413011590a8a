"""Updates TrueSkill ratings from placements with the season's parameters. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import trueskill

from ladder.enums import KAGGLE, OWN_SEAT
from ladder.ids import EntryId, MatchId


@dataclass(frozen=True, slots=True)
class Rating:
    mu: float
    sigma: float


@dataclass(frozen=True, slots=True)
class RatingParameters:
    """Rating parameters of a season."""

    mu0: float = 600.0
    sigma0: float = 200.0
    beta: float = 150.0
    tau: float = 0.0
    draw_probability: float = 0.05
    fault_rule: str = OWN_SEAT

    @property
    def initial_rating(self) -> Rating:
        """Returns the initial rating."""
        return Rating(self.mu0, self.sigma0)


@dataclass(frozen=True, slots=True)
class RatedResult:
    """An accepted match for the rating, by seat."""

    match_id: MatchId
    entries: tuple[EntryId, ...]
    placements: tuple[int, ...]
    faults: tuple[bool, ...]


def update_ratings(
    parameters: RatingParameters,
    ratings: Sequence[Rating],
    placements: Sequence[int],
    faults: Sequence[bool],
) -> tuple[Rating, ...]:
    """Returns ratings after one match, by seat; placement 1 is best, equal placements tie.

    Rule ``kaggle``: all placements count. Rule ``own_seat``: seats without a fault are rated
    against each other as if the others were empty. A seat with a fault is last, for its own update
    only. So two faults never rate each other, and a single seat without a fault gains nothing.
    """
    if parameters.fault_rule == KAGGLE:
        return _trueskill_update(parameters, ratings, placements)
    clean = [seat for seat, fault in enumerate(faults) if not fault]
    after = list(ratings)
    rated = _trueskill_update(
        parameters, [ratings[s] for s in clean], [placements[s] for s in clean]
    )
    for seat, rating in zip(clean, rated, strict=True):
        after[seat] = rating
    behind = max((placements[s] for s in clean), default=0) + 1
    for seat in range(len(ratings)):
        if faults[seat]:
            after[seat] = _trueskill_update(
                parameters,
                [*(ratings[s] for s in clean), ratings[seat]],
                [*(placements[s] for s in clean), behind],
            )[-1]
    return tuple(after)


def rate_result(
    parameters: RatingParameters, ratings: Mapping[EntryId, Rating], result: RatedResult
) -> dict[EntryId, Rating]:
    """Returns new ratings of the players, given all ratings; a missing one is the initial one.

    An entry in several seats is rated by its best placement.
    """
    best: dict[EntryId, int] = {}
    for seat, entry in enumerate(result.entries):
        if entry not in best or result.placements[seat] < result.placements[best[entry]]:
            best[entry] = seat
    after = update_ratings(
        parameters,
        [ratings.get(entry, parameters.initial_rating) for entry in best],
        [result.placements[seat] for seat in best.values()],
        [result.faults[seat] for seat in best.values()],
    )
    return dict(zip(best, after, strict=True))


def _trueskill_update(
    parameters: RatingParameters, ratings: Sequence[Rating], placements: Sequence[int]
) -> tuple[Rating, ...]:
    if len(ratings) < 2:
        return tuple(ratings)
    environment = _trueskill_environment(parameters)
    pull = 0.0
    while True:
        # The package raises FloatingPointError on upsets of dozens of standard deviations. Then the
        # step is computed from ratings moved together, and added to the real ones.
        middle = sum(r.mu for r in ratings) / len(ratings)
        mus = [r.mu + (middle - r.mu) * pull for r in ratings]
        groups = [
            (environment.create_rating(mu, r.sigma),) for mu, r in zip(mus, ratings, strict=True)
        ]
        try:
            rated = environment.rate(groups, ranks=list(placements))
        except (FloatingPointError, ZeroDivisionError, ValueError):
            if pull > 0.999:
                return tuple(ratings)
            pull = (1 + pull) / 2
            continue
        return tuple(
            Rating(r.mu + (new.mu - mu), min(new.sigma, _cap_sigma(parameters, r)))
            for r, mu, (new,) in zip(ratings, mus, rated, strict=True)
        )


def _cap_sigma(parameters: RatingParameters, rating: Rating) -> float:
    """Limits sigma: a match never makes a rating less certain, except for tau."""
    return float((rating.sigma**2 + parameters.tau**2) ** 0.5)


@lru_cache(maxsize=64)
def _trueskill_environment(parameters: RatingParameters) -> trueskill.TrueSkill:
    return trueskill.TrueSkill(
        mu=parameters.mu0,
        sigma=parameters.sigma0,
        beta=parameters.beta,
        tau=parameters.tau,
        draw_probability=parameters.draw_probability,
    )
