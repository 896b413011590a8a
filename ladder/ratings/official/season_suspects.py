"""Collects what looks like copies or thrown games in a fit: for hosts, and for the pairing. Pure.

The fit has counted every pair already. So a version of the standing holds its suspects, and nobody
reads the log for them. Nothing here changes a score, a rank or a medal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf, log, log10
from typing import Final

import msgspec
import numpy as np

from ladder.ids import EntryId
from ladder.ratings.official.equal_groups import EqualGroup, find_equal_groups
from ladder.ratings.official.fit import GROWTH, Fit, Floats
from ladder.ratings.official.representatives import Entrant
from ladder.ratings.official.throwers import ALARM, SuspectFavourite, find_throwers

FAILING: Final = 0.5
"""Share of failed games above which an entry is no member of a group."""
PRIOR_GAMES: Final = 2
"""Games without a fault that each entry starts with."""
SEARCHED: Final = 1.0
"""Expected number of favourites in a season without throwers, at most, whose pairs meet less and
for whom the pairing searches."""
LEAST_PACE: Final = 0.05
"""Lowest pace of an entry that fails, or of a group's member."""
WELL_KNOWN: Final = 0.75
"""Share of the median deviation of a group's members below which a member is well known."""
DOUBTFUL: Final = 0.4
"""Up to the ``chance_sureness`` a group's slow members have pace 1. With this much more they have
LEAST_PACE, and between them in proportion."""
RECOVERY: Final = 2.0
"""Rise of the pace of an entry that left its group, per unit of the natural logarithm of the
season's games: 0.1 for 5 % more games.

Entries at the edge of a group leave and return often. With pace 1 at once, one would catch up on
all games that it had missed.
"""


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
    """Members that play less. Some of the oldest members do not, so that a later flood of entries
    of their strength does not slow all of them."""
    pace: float = 1.0
    """Pace of the slow members."""


@dataclass(frozen=True, slots=True)
class ThrowingEntry:
    """An entry that loses to a favourite, comes last in its games or ties with it more often than
    both skills say.
    """

    entry_id: EntryId
    meetings: int
    lost: int
    expected: float
    chance: float
    last: int = 0
    """Games with the favourite in which it came last, behind at least two others."""
    expected_last: float = 0.0
    tied: int = 0
    expected_tied: float = 0.0


@dataclass(frozen=True, slots=True)
class FavouredEntry:
    """An entry to whom several others lose, or with whom they tie, against expectation."""

    entry_id: EntryId
    chance: float
    throwers: tuple[ThrowingEntry, ...]


@dataclass(frozen=True, slots=True)
class SeasonSuspects:
    """The suspects of one version of a standing."""

    groups: tuple[EqualEntries, ...] = ()
    favourites: tuple[FavouredEntry, ...] = ()
    """Favourites that hosts see on the page of suspects."""
    apart: tuple[tuple[EntryId, EntryId], ...] = ()
    """Pairs that the pairing keeps apart: a favourite and one who loses to it."""
    paces: Mapping[EntryId, float] = field(default_factory=dict)
    """Paces below 1 of entries that are or were slow members of a group."""
    paces_games: int = 0
    """Games of the season when the paces were computed."""

    def to_json(self) -> str:
        """Returns the text of a version's column."""
        return msgspec.json.encode(self).decode()

    @classmethod
    def from_json(cls, text: str | None) -> SeasonSuspects:
        """Reads the text of a version's column. None, of a version older than the column, means no
        suspects.
        """
        return cls() if text is None else msgspec.json.decode(text, type=cls)


def find_suspects(
    fit: Fit,
    entrants: Sequence[Entrant],
    before: SeasonSuspects | None = None,
) -> SeasonSuspects:
    """Returns the suspects among these entrants, which are in order of their ids.

    ``before``: suspects of the previous standing. Its paces stay until the season's games have
    grown by ``GROWTH``: with each fit, more entries would be slowed by chance.
    """
    twins = dict[int, list[EntryId]]()
    for each in entrants:
        if each.contender >= 0:
            twins.setdefault(each.contender, []).append(each.entry_id)
    entry_of = {contender: entries[0] for contender, entries in twins.items()}
    known = np.zeros(len(fit.mu), np.bool_)
    known[list(entry_of)] = True
    mu, sigma = np.where(known, fit.mu, np.nan), np.where(known, fit.shown_sigma, np.nan)
    works = np.flatnonzero(known & (fit.failed / (fit.played + PRIOR_GAMES) <= FAILING))
    groups = tuple(
        _name_group(
            group,
            [entry_of[int(works[member])] for member in group.members],
            sigma[works[group.members]],
            len(works),
        )
        for group in find_equal_groups(mu[works], sigma[works])
    )
    log = fit.messages.seen
    apart = find_throwers(log, fit, known, SEARCHED)
    shown = [each for each in apart if each.chance < ALARM]
    before, games = before or SeasonSuspects(), len(log)
    paces = before.paces
    if not before.paces_games <= games < GROWTH * before.paces_games:
        growth = games / before.paces_games if before.paces_games else inf
        paces = _paces(groups, paces, growth, list(twins.values()))
        before = replace(before, paces_games=games)
    return SeasonSuspects(
        groups,
        tuple(_name_favourite(each, entry_of) for each in shown),
        tuple(
            (entry_of[each.favourite], entry_of[pair.thrower])
            for each in apart
            for pair in each.pairs
        ),
        paces,
        before.paces_games,
    )


def _paces(
    groups: Sequence[EqualEntries],
    before: Mapping[EntryId, float],
    growth: float,
    twins: Sequence[Sequence[EntryId]],
) -> dict[EntryId, float]:
    """Returns the paces below 1: each falls at once, and rises with the games of the season.

    ``growth``: factor by which the games have grown. ``twins``: entries of each bundle, which have
    one pace.
    """
    rise = RECOVERY * log(max(growth, 1.0))
    of_first = {entries[0]: entries for entries in twins}
    paces = {entry: pace + rise for entry, pace in before.items() if pace + rise < 1.0}
    for group in groups:
        slow = [entry for first in group.slow for entry in of_first[first] if group.pace < 1.0]
        paces |= {entry: min(group.pace, paces.get(entry, 1.0)) for entry in slow}
    return paces


def chance_sureness(entries: int) -> float:
    """Returns the sureness that a group hardly exceeds by chance in a field of this size.

    Of 1,000 normal fields with 100 entries, about one has a group surer than 3.8 to 4.3. Of 250
    with 1,000 entries, the surest has 2.3 to 4.9. It depends on the deviations. Honest fields of
    other shapes can have surer groups: of 100 exponential fields with 200 entries, 3 have one surer
    than this number if the deviations are 0.2 beta, and 5 if they are 0.3. So this is more than
    normal fields need.
    """
    return 3.7 + 0.6 * log10(max(entries, 1))


def _name_group(
    found: EqualGroup, members: Sequence[EntryId], sigma: Floats, entries: int
) -> EqualEntries:
    """Returns the group by its entries; ``sigma`` has the deviation of each member.

    The ``doubtful`` oldest members are not slow. Of the ``explained`` oldest, the well-known ones
    are not slow either. Without this limit by age, many fresh copies would make older copies well
    known.
    """
    oldest_first = sorted(members)  # ids sort by time
    kept = set(oldest_first[: max(1, round(min(found.doubtful, found.explained)))])
    well_known_below = WELL_KNOWN * np.median(sigma)
    well_known = {each for each, own in zip(members, sigma, strict=True) if own < well_known_below}
    kept |= well_known.intersection(oldest_first[: round(found.explained)])
    return EqualEntries(
        found.middle,
        found.share,
        found.explained,
        tuple(members),
        tuple(member for member in members if member not in kept),
        float(np.interp(found.sureness - chance_sureness(entries), (0, DOUBTFUL), (1, LEAST_PACE))),
    )


def _name_favourite(found: SuspectFavourite, entry_of: dict[int, EntryId]) -> FavouredEntry:
    return FavouredEntry(
        entry_of[found.favourite],
        found.chance,
        tuple(
            ThrowingEntry(
                entry_of[pair.thrower],
                pair.meetings,
                pair.lost,
                pair.expected,
                pair.chance,
                pair.last,
                pair.expected_last,
                pair.tied,
                pair.expected_tied,
            )
            for pair in found.pairs
        ),
    )
