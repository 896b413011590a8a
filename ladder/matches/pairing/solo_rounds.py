"""Seasons for one seat: all entries advance together, round by round, on a seed of each round."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from ladder.matches.pairing.candidates import Candidate

CATCH_UP: Final = 2
"""Matches under way at a time of an entry that was away for some rounds; nobody waits for it."""


@dataclass(frozen=True, slots=True)
class EntryRound:
    """An active entry, and the last round that it has."""

    candidate: Candidate
    round: int


def next_rounds(
    field: Sequence[EntryRound],
    begun: int,
    most: int,
    admissible: Collection[str] | None = None,
) -> list[tuple[Candidate, int]]:
    """Up to ``most`` times an entry and the round that it plays next, in the order to be played.

    ``begun`` is the last round that anybody has. The next one begins once everybody has it, so
    entries are never more than a round apart, and of those that lack a round the one that has the
    fewest matches under way goes first. Who was away (no node served its profile, say) and lacks
    more makes them good a few at a time, and the others go on.
    """
    able = [
        runner
        for runner in field
        if runner.candidate.weight > 0
        and (admissible is None or runner.candidate.profile in admissible)
    ]
    reached = [runner.round for runner in able]
    under_way = [runner.candidate.in_flight for runner in able]
    given: list[tuple[Candidate, int]] = []
    while able and len(given) < most:
        lacking = [
            n
            for n, last in enumerate(reached)
            if last == begun - 1 or (last < begun - 1 and under_way[n] < CATCH_UP)
        ]
        if not lacking:
            if begun not in reached:
                break  # all were away, and have as many under way as they may
            begun += 1
            continue
        n = min(lacking, key=lambda n: (under_way[n], able[n].candidate.entry_id))
        reached[n] += 1
        under_way[n] += 1
        given.append((able[n].candidate, reached[n]))
    return given
