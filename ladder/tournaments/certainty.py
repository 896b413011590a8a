"""How probable it is, by the official model, that a tournament finds the best of its field."""

from __future__ import annotations

from functools import lru_cache
from threading import Lock

from ladder.tournaments.formats import Certainty, decode_plan, encode_plan, how_sure
from ladder.tournaments.views import TournamentView

MOST: int = 128
"""Most entrants for which a page computes it."""
MOST_WORK: int = 8_000
"""Rounds of Swiss stages and of heats, times the square of the field. More would take seconds."""
_one_at_a_time = Lock()


def certainty_of(view: TournamentView, beta: float) -> Certainty | None:
    """The certainty by the scores at the lock, in units of ``beta``.

    None if most entrants had no score, or if it would take long.
    """
    if view.inputs is None or not 2 <= len(view.inputs.entrants) <= MOST:
        return None
    rounds = sum(getattr(stage, "rounds", 0) for stage in view.tournament.plan.stages)
    if rounds * len(view.inputs.entrants) ** 2 > MOST_WORK:
        return None
    known = [one for one in view.inputs.entrants if one.score is not None]
    if 2 * len(known) < len(view.inputs.entrants):
        return None
    lowest = min(one.score or 0.0 for one in known)
    widest = max(one.deviation or 0.0 for one in known)
    entrants = view.inputs.entrants
    scores = tuple((lowest if one.score is None else one.score) / beta for one in entrants)
    sigmas = tuple((widest if one.deviation is None else one.deviation) / beta for one in entrants)
    with _one_at_a_time:
        return _certainty(encode_plan(view.tournament.plan), scores, sigmas)


@lru_cache(maxsize=64)
def _certainty(plan: bytes, scores: tuple[float, ...], sigmas: tuple[float, ...]) -> Certainty:
    return how_sure(decode_plan(plan), scores, sigmas)
