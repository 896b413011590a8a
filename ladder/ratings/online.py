"""Ratings from placements: TrueSkill with the season's parameters. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
    """The season's rating rules."""

    mu0: float = 600.0
    sigma0: float = 200.0
    beta: float = 150.0
    tau: float = 0.0
    draw_probability: float = 0.05
    fault_rule: str = OWN_SEAT

    @property
    def start(self) -> Rating:
        """Where an entry begins."""
        return Rating(self.mu0, self.sigma0)


@dataclass(frozen=True, slots=True)
class RatedResult:
    """An accepted match as the rating sees it, by seat."""

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
    """Ratings after one match, by seat; placements are ranks, 1 is best, equal numbers tie.

    Rule ``kaggle``: by placement as given. Rule ``own_seat``: the seats without a fault are rated
    among themselves as if the others had been empty, and each seat with a fault is last, behind
    the seats without one, for its own update only. So two faults never rate each other, a lone
    survivor gains nothing, and when every seat is at fault nobody moves.
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
    """New ratings of those who played, given everybody's ratings (absent: the start).

    An entry that sits in several seats is rated by its best placed one.
    """
    best: dict[EntryId, int] = {}
    for seat, entry in enumerate(result.entries):
        if entry not in best or result.placements[seat] < result.placements[best[entry]]:
            best[entry] = seat
    after = update_ratings(
        parameters,
        [ratings.get(entry, parameters.start) for entry in best],
        [result.placements[seat] for seat in best.values()],
        [result.faults[seat] for seat in best.values()],
    )
    return dict(zip(best, after, strict=True))


def rate_all(parameters: RatingParameters, results: Iterable[RatedResult]) -> dict[EntryId, Rating]:
    """Ratings after all these results in this order: the meaning of a prefix of the log."""
    ratings: dict[EntryId, Rating] = {}
    for result in results:
        ratings.update(rate_result(parameters, ratings, result))
    return ratings


def _trueskill_update(
    parameters: RatingParameters, ratings: Sequence[Rating], placements: Sequence[int]
) -> tuple[Rating, ...]:
    if len(ratings) < 2:
        return tuple(ratings)
    environment = _trueskill_environment(parameters)
    pull = 0.0
    while True:
        # The package gives up (FloatingPointError) on upsets of dozens of standard deviations.
        # Then the step is taken from ratings pulled together, and added to the real ones.
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
    """A match never makes a rating less certain, but for what tau adds."""
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
