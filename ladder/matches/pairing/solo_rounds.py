"""Assigns rounds in a season for one seat: all entries play each round on the same seed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from ladder.matches.pairing.candidates import Candidate

CATCH_UP: Final = 2
"""Matches in flight of an entry that missed rounds; other entries do not wait for it."""


@dataclass(frozen=True, slots=True)
class EntryRound:
    """An active entry and the last round that it has."""

    candidate: Candidate
    round: int


def next_rounds(
    field: Sequence[EntryRound],
    begun: int,
    most: int,
    admissible: Collection[str] | None = None,
) -> list[tuple[Candidate, int]]:
    """Returns up to ``most`` entries and the next round of each, in order of play.

    ``begun`` is the last round that any entry has. The next round begins when every entry has it,
    so entries are at most one round apart. Among entries that lack a round, the one with fewest
    matches in flight goes first. An entry that missed several rounds, for example without a node
    for its profile, plays a few at a time. Others continue.
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
                break  # all entries missed rounds and have reached their limit in flight
            begun += 1
            continue
        n = min(lacking, key=lambda n: (under_way[n], able[n].candidate.entry_id))
        reached[n] += 1
        under_way[n] += 1
        given.append((able[n].candidate, reached[n]))
    return given
