"""Caches what the pairing needs of a season: official places, meetings and seat counts.

A scheduler that becomes leader starts with an empty cache and reads the log again.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from random import Random
from typing import Final

from ladder.database import db
from ladder.entries import entries
from ladder.ids import SeasonId
from ladder.leagues.records import Season
from ladder.matches.durations import UsualSeconds
from ladder.matches.pairing import Proposal
from ladder.ratings import standing_versions
from ladder.ratings.season_log import SeasonLog
from ladder.scheduling.fair_queueing import FairTurns
from ladder.scheduling.season_field import PairingTerms, SeasonField

READ_AT_ONCE: Final = 5_000
"""Log results per round of the scheduler, so a long log delays no round."""


@dataclass
class _CachedSeason:
    log: SeasonLog
    known: SeasonField = field(default_factory=SeasonField)
    readings: int = 0
    version: int = 0


class SeasonCache:
    """The cache of all requested seasons."""

    def __init__(self) -> None:
        self._seen: dict[SeasonId, _CachedSeason] = {}
        self.turns = FairTurns()
        self.usual = UsualSeconds()

    def propose_lineups(
        self,
        conn: db.Connection,
        season: Season,
        *,
        lineups: int,
        rng: Random,
        same_team_lineups: bool = False,
        admissible: Collection[str] | None = None,
    ) -> Proposal:
        """Proposes lineups of the season's active entries, as far as the log has been read."""
        seen = self._read_season(conn, season)
        return seen.known.propose_lineups(
            entries.pairing_candidates(conn, season.id),
            PairingTerms(season.seats, season.beta, season.score_offset, same_team_lineups),
            lineups=lineups,
            rng=rng,
            admissible=admissible,
        )

    def _read_season(self, conn: db.Connection, season: Season) -> _CachedSeason:
        """Returns the season after reading more of its log and its newest standing."""
        seen = self._seen.setdefault(season.id, _CachedSeason(SeasonLog(season.id)))
        seen.log.read(conn, season.accepted_no, READ_AT_ONCE)
        if seen.readings != seen.log.readings:
            self._seen[season.id] = seen = _CachedSeason(seen.log, readings=seen.log.readings)
        if seen.version != season.official_version:
            found = standing_versions.latest_version(conn, season.id)
            if found is not None:
                seen.version = found[0].version
                seen.known.set_places(found[1])
        seen.known.count_games(seen.log.numbers, seen.log.games)
        return seen
