"""Rates a log of results again, to compare with the stored ratings."""

from __future__ import annotations

from collections.abc import Iterable

from ladder.ids import EntryId
from ladder.ratings.rating_updates import RatedResult, Rating, RatingParameters, rate_result


def rate_all(parameters: RatingParameters, results: Iterable[RatedResult]) -> dict[EntryId, Rating]:
    """Returns the ratings after all these results in order."""
    ratings: dict[EntryId, Rating] = {}
    for result in results:
        ratings.update(rate_result(parameters, ratings, result))
    return ratings
