"""Collects what looks like copies or thrown games in a fit: for hosts, and for the pairing. Pure.

The fit has counted every pair already. So a version of the standing holds its suspects, and nobody
reads the log for them. Nothing here changes a score, a rank or a medal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import msgspec
import numpy as np

from ladder.ids import EntryId
from ladder.ratings.official.equal_groups import EqualGroup, find_equal_groups
from ladder.ratings.official.fit import Fit
from ladder.ratings.official.representatives import Entrant
from ladder.ratings.official.throwers import SuspectFavourite, find_throwers

FAILING: Final = 0.5
"""Share of failed games above which an entry is no member of a group."""
PRIOR_GAMES: Final = 2
"""Games without a fault that each entry starts with."""
ALARM: Final = 0.05
"""Expected number of favourites in a season without throwers, whose pairs meet less."""


@dataclass(frozen=True, slots=True)
class EqualEntries:
    """Entries that games have not told apart; equal bundles count once."""

    middle: float
    """In beta, on the scale of the fit."""
    share: float
    """Share of the entries near the middle that the rest of the field does not explain."""
    explained: float
    """Expected number of members that are not one of the equal ones."""
    members: tuple[EntryId, ...]
    """The likeliest first."""
    slow: tuple[EntryId, ...]
    """Members that play less: all but the oldest, as many as the rest of the field explains. So a
    later flood of entries of a rival's strength does not slow the rival."""


@dataclass(frozen=True, slots=True)
class ThrowingEntry:
    """An entry that loses to a favourite more often than both skills say."""

    entry_id: EntryId
    meetings: int
    lost: int
    expected: float
    chance: float


@dataclass(frozen=True, slots=True)
class FavouredEntry:
    """An entry to whom several others lose against expectation."""

    entry_id: EntryId
    chance: float
    throwers: tuple[ThrowingEntry, ...]


@dataclass(frozen=True, slots=True)
class SeasonSuspects:
    """The suspects of one version of a standing."""

    groups: tuple[EqualEntries, ...] = ()
    favourites: tuple[FavouredEntry, ...] = ()
    """Those that hosts see."""
    apart: tuple[tuple[EntryId, EntryId], ...] = ()
    """Pairs that the pairing keeps apart: a favourite and one who loses to it."""

    def to_json(self) -> str:
        """Returns the text of a version's column."""
        return msgspec.json.encode(self).decode()

    @classmethod
    def from_json(cls, text: str | None) -> SeasonSuspects:
        """Reads such a text; None, in versions made before: no suspects."""
        return cls() if text is None else msgspec.json.decode(text, type=cls)


def find_suspects(fit: Fit, entrants: Sequence[Entrant]) -> SeasonSuspects:
    """Returns the suspects among these entrants, which are in order of their ids."""
    entry_of: dict[int, EntryId] = {}
    for each in entrants:  # of equal bundles, the first entry
        if each.contender >= 0:
            entry_of.setdefault(each.contender, each.entry_id)
    known = np.zeros(len(fit.mu), np.bool_)
    known[list(entry_of)] = True
    mu, sigma = np.where(known, fit.mu, np.nan), np.where(known, fit.shown_sigma, np.nan)
    works = np.flatnonzero(known & (fit.failed / (fit.played + PRIOR_GAMES) <= FAILING))
    groups = find_equal_groups(mu[works], sigma[works])
    shown = find_throwers(fit.pairs, mu, sigma, fit.kappa)
    apart = find_throwers(fit.pairs, mu, sigma, 0.0, ALARM)
    return SeasonSuspects(
        tuple(
            _name_group(group, [entry_of[int(works[member])] for member in group.members])
            for group in groups
        ),
        tuple(_name_favourite(each, entry_of) for each in shown),
        tuple(
            (entry_of[each.favourite], entry_of[pair.thrower])
            for each in apart
            for pair in each.pairs
        ),
    )


def _name_group(found: EqualGroup, members: Sequence[EntryId]) -> EqualEntries:
    oldest = set(sorted(members)[: max(1, round(found.explained))])  # ids sort by time
    return EqualEntries(
        found.middle,
        found.share,
        found.explained,
        tuple(members),
        tuple(member for member in members if member not in oldest),
    )


def _name_favourite(found: SuspectFavourite, entry_of: dict[int, EntryId]) -> FavouredEntry:
    return FavouredEntry(
        entry_of[found.favourite],
        found.chance,
        tuple(
            ThrowingEntry(
                entry_of[pair.thrower], pair.meetings, pair.lost, pair.expected, pair.chance
            )
            for pair in found.pairs
        ),
    )
