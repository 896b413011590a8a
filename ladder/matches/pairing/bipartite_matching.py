"""A legal lineup where drawing one by one found none: tiny or one-sided fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from random import Random

import numpy as np
from numpy.typing import NDArray

from ladder.matches.pairing.candidates import Candidate, free_anchors

Bundle = tuple[str, str]
"""Digest and profile."""
Team = str
"""A team's id; for a free anchor, its own entry id."""


class BundleMatching:
    """Who holds which bundles: a lineup takes different teams to different bundles, a matching.

    A free anchor (``free_anchors``) counts as a team of its own. The field is read once; after that
    a matching reads no more of a team than its own size.
    """

    def __init__(self, field: Sequence[Candidate], seats: int) -> None:
        self._field = field
        self._seats = seats
        self._free = free_anchors(field)
        self._places: dict[tuple[Team, Bundle], list[int]] = {}
        self._bundles: dict[Team, list[Bundle]] = {}
        for place, each in enumerate(field):
            team, bundle = self._held(each)
            if (team, bundle) not in self._places:
                self._bundles.setdefault(team, []).append(bundle)
            self._places.setdefault((team, bundle), []).append(place)

    def completed(self, lead: int, rng: Random) -> list[int] | None:
        """Places of a legal lineup with this lead, or None when there is none."""
        team, bundle = self._held(self._field[lead])
        taken = self._matched(self._seats - 1, rng, team, bundle)
        if len(taken) < self._seats - 1:
            return None
        return [lead, *(rng.choice(self._places[team, bundle]) for bundle, team in taken.items())]

    def seatable(self, rng: Random) -> NDArray[np.bool_]:
        """By place, whether there is a legal lineup with this one at all.

        A team and a bundle take at most two from a matching, so everybody has a lineup where the
        largest has a seat more than is needed. Where it has just as many, who holds what is in it,
        or whose team or bundle is not, changes places with one of it; the few that are left are
        looked at one by one.
        """
        largest = self._matched(self._seats + 1, rng)
        if len(largest) != self._seats:
            return np.full(len(self._field), len(largest) > self._seats)
        teams = set(largest.values())
        found = np.zeros(len(self._field), np.bool_)
        for (team, bundle), places in self._places.items():
            found[places] = (
                team not in teams
                or bundle not in largest
                or largest[bundle] == team
                or len(self._matched(self._seats - 1, rng, team, bundle)) == self._seats - 1
            )
        return found

    def most(self) -> int:
        """How many seats of one match can be filled."""
        return len(self._matched(self._seats, Random(0)))  # noqa: S311 (no order fills more)

    def _held(self, each: Candidate) -> tuple[Team, Bundle]:
        team = each.entry_id if each.entry_id in self._free else each.team_id
        return team, (each.digest, each.profile)

    def _matched(
        self, most: int, rng: Random, without: Team | None = None, but: Bundle | None = None
    ) -> Mapping[Bundle, Team]:
        """Up to so many teams, each with a bundle of its own; as many as there can be."""
        taken: dict[Bundle, Team] = {}
        teams = list(self._bundles)
        rng.shuffle(teams)
        for team in teams:
            if len(taken) == most:
                break
            if team != without:
                self._augment(team, taken, {but}, rng)
        return taken

    def _augment(
        self, team: Team, taken: dict[Bundle, Team], seen: set[Bundle | None], rng: Random
    ) -> bool:
        """Whether this team found a bundle, others having moved to another of theirs for it."""
        for bundle in _rotated(self._bundles[team], rng):
            if bundle in seen:
                continue
            seen.add(bundle)
            if bundle not in taken or self._augment(taken[bundle], taken, seen, rng):
                taken[bundle] = team
                return True
        return False


def _rotated(bundles: Sequence[Bundle], rng: Random) -> Iterator[Bundle]:
    first = rng.randrange(len(bundles))
    return (bundles[(first + n) % len(bundles)] for n in range(len(bundles)))
