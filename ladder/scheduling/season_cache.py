"""Caches what the pairing needs of a season: official places, meetings and seat counts.

A scheduler that becomes leader starts with an empty cache and reads the log again.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ladder.database import db
from ladder.entries import entries
from ladder.ids import EntryId, SeasonId
from ladder.leagues.records import Season
from ladder.matches.durations import UsualSeconds
from ladder.matches.pairing import Candidate, EncounterCounts
from ladder.ratings import standing_versions
from ladder.ratings.official.standing import OfficialPlace
from ladder.ratings.season_log import SeasonLog
from ladder.scheduling.fair_queueing import FairTurns

READ_AT_ONCE: Final = 5_000
"""Log results per round of the scheduler, so a long log delays no round."""


@dataclass
class _CachedSeason:
    log: SeasonLog
    met: EncounterCounts = field(default_factory=EncounterCounts)
    readings: int = 0
    counted: int = 0
    """Games of the log that ``met`` and ``sat`` include."""
    sat: NDArray[np.int32] = field(default_factory=lambda: np.zeros((0, 0), np.int32))
    """[contenders, seats]: games played in each seat."""
    version: int = 0
    places: dict[EntryId, OfficialPlace] = field(default_factory=dict)


class SeasonCache:
    """The cache of all requested seasons."""

    def __init__(self) -> None:
        self._seen: dict[SeasonId, _CachedSeason] = {}
        self.turns = FairTurns()
        self.usual = UsualSeconds()

    def candidates(self, conn: db.Connection, season: Season) -> list[Candidate]:
        """Returns the season's active entries, with official ratings where available."""
        seen = self._cached_season(season.id)
        if seen.version != season.official_version:
            found = standing_versions.latest_version(conn, season.id)
            if found is not None:
                seen.version, seen.places = found[0].version, found[1]
        return [
            self._with_official_rating(each, seen, season)
            for each in entries.pairing_candidates(conn, season.id)
        ]

    def encounter_counts(self, conn: db.Connection, season: Season) -> EncounterCounts:
        """Returns the meetings, as far as the log has been read."""
        seen = self._cached_season(season.id)
        seen.log.read(conn, season.accepted_no, READ_AT_ONCE)
        if seen.readings != seen.log.readings:
            self._seen[season.id] = seen = _CachedSeason(seen.log, readings=seen.log.readings)
        games = seen.log.games.contenders
        if len(games) > seen.counted:
            new = games[seen.counted :]
            seen.met = seen.met.plus(dict(seen.log.numbers), new)
            seen.sat = _add_seat_counts(seen.sat, seen.log.contender_count, new)
            seen.counted = len(games)
        return seen.met

    def _cached_season(self, season_id: SeasonId) -> _CachedSeason:
        return self._seen.setdefault(season_id, _CachedSeason(SeasonLog(season_id)))

    def _with_official_rating(
        self, each: Candidate, seen: _CachedSeason, season: Season
    ) -> Candidate:
        """Returns the candidate on the official scale; before its first fit, by its live rating."""
        place = seen.places.get(each.entry_id)
        number = seen.log.numbers.get(each.entry_id, -1)
        sat = tuple(seen.sat[number].tolist()) if 0 <= number < len(seen.sat) else ()
        if place is None:
            return replace(each, mu=each.mu + season.score_offset, seat_games=sat)
        return replace(each, mu=place.score, sigma=place.sigma, loss=place.loss, seat_games=sat)


def _add_seat_counts(
    before: NDArray[np.int32], contenders: int, games: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Returns the counts plus these games."""
    counts = np.zeros((contenders, games.shape[1]), np.int32)
    counts[: before.shape[0], : before.shape[1]] = before
    for seat, sitting in enumerate(games.T):
        counts[:, seat] += np.bincount(sitting[sitting >= 0], minlength=contenders).astype(np.int32)
    return counts
