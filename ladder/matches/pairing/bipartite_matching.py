"""Finds a legal lineup by bipartite matching if random draws found none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from random import Random

import numpy as np
from numpy.typing import NDArray

from ladder.matches.pairing.candidates import Candidate, free_anchors

Bundle = tuple[str, str]
"""Digest and profile."""
Team = str
"""Id of a team; for a free anchor, its own entry id."""


class BundleMatching:
    """Matches teams to bundles: a lineup needs different teams and different bundles.

    A free anchor (``free_anchors``) counts as its own team. The field is read only once. After
    that, a matching reads at most its own size of each team.
    """

    def __init__(self, field: Sequence[Candidate], seats: int) -> None:
        self._field = field
        self._seats = seats
        self._free = free_anchors(field)
        self._places: dict[tuple[Team, Bundle], list[int]] = {}
        self._bundles: dict[Team, list[Bundle]] = {}
        for place, each in enumerate(field):
            team, bundle = self._team_and_bundle(each)
            if (team, bundle) not in self._places:
                self._bundles.setdefault(team, []).append(bundle)
            self._places.setdefault((team, bundle), []).append(place)

    def complete_lineup(self, lead: int, rng: Random) -> list[int] | None:
        """Returns places of a legal lineup with this lead, or None if none exists."""
        team, bundle = self._team_and_bundle(self._field[lead])
        taken = self._find_matching(self._seats - 1, rng, team, bundle)
        if len(taken) < self._seats - 1:
            return None
        return [lead, *(rng.choice(self._places[team, bundle]) for bundle, team in taken.items())]

    def seatable(self, rng: Random) -> NDArray[np.bool_]:
        """Returns, by place, whether a legal lineup with this candidate exists.

        A team and a bundle use at most two seats of a matching. So every candidate has a lineup if
        the largest matching has more seats than needed. If it has exactly as many, some candidates
        can replace a member of the matching: those in it, and those whose team or bundle is not.
        The function tests the few others one by one.
        """
        largest = self._find_matching(self._seats + 1, rng)
        if len(largest) != self._seats:
            return np.full(len(self._field), len(largest) > self._seats)
        teams = set(largest.values())
        found = np.zeros(len(self._field), np.bool_)
        for (team, bundle), places in self._places.items():
            found[places] = (
                team not in teams
                or bundle not in largest
                or largest[bundle] == team
                or len(self._find_matching(self._seats - 1, rng, team, bundle)) == self._seats - 1
            )
        return found

    def max_filled_seats(self) -> int:
        """Returns how many seats of one match can be filled."""
        return len(self._find_matching(self._seats, Random(0)))  # noqa: S311 (no order fills more)

    def _team_and_bundle(self, each: Candidate) -> tuple[Team, Bundle]:
        team = each.entry_id if each.entry_id in self._free else each.team_id
        return team, (each.digest, each.profile)

    def _find_matching(
        self, most: int, rng: Random, without: Team | None = None, but: Bundle | None = None
    ) -> Mapping[Bundle, Team]:
        """Returns a largest matching of at most ``most`` teams, each with its own bundle."""
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
        """Whether this team gets a bundle; other teams may move to another bundle."""
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
