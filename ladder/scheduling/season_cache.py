"""Caches what the pairing needs of a season: official places, meetings and seat counts.

A scheduler that becomes leader starts with an empty cache and reads the log again.
"""

from __future__ import annotations

from collections.abc import Collection, Set
from dataclasses import dataclass, field
from random import Random
from typing import Final

from ladder.database import db
from ladder.entries import candidates
from ladder.entries.changed_candidates import CandidateReader
from ladder.ids import EntryId, SeasonId
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
    entries: CandidateReader
    known: SeasonField = field(default_factory=SeasonField)
    reset_count: int = 0
    version: int = 0


class SeasonCache:
    """The cache of all requested seasons."""

    def __init__(self) -> None:
        self._seen: dict[SeasonId, _CachedSeason] = {}
        self.turns = FairTurns()
        self.usual = UsualSeconds()

    @property
    def seasons(self) -> Set[SeasonId]:
        """Seasons in the cache."""
        return self._seen.keys()

    def keep_only(self, season_ids: Collection[SeasonId]) -> None:
        """Forgets all other seasons. One that plays again later is read anew."""
        self._seen = {each: seen for each, seen in self._seen.items() if each in season_ids}

    def read_entries(self, conn: db.Connection, season_id: SeasonId) -> None:
        """Reads the entries that changed since the reading before.

        If they cannot be applied, forgets the season: no later reading would return them again.
        """
        seen = self._season(season_id)
        changes = seen.entries.read(conn)
        try:
            seen.known.change_entries(changes.changed, changes.left)
            seen.known.set_numbers(changes.renumbered, changes.numbers)
        except BaseException:
            del self._seen[season_id]
            raise

    def entries_without_matches(
        self, conn: db.Connection, season_id: SeasonId, profiles: Collection[str]
    ) -> set[EntryId]:
        """Returns the competitors with one of these profiles that have no rated match, played or
        waiting, among the entries that were read."""
        idle = self._season(season_id).known.entries_without_games()
        served = {each.entry_id for each in idle if each.profile in profiles}
        return candidates.entries_without_matches(conn, served)

    def read_log(self, conn: db.Connection, season: Season) -> int:
        """Reads more of the season's log, and its newest standing; returns the last number read."""
        seen = self._season(season.id)
        seen.log.read(conn, season.accepted_no, READ_AT_ONCE)
        if seen.reset_count != seen.log.reset_count:
            seen.known, seen.version = seen.known.without_games(), 0
            seen.reset_count = seen.log.reset_count
        if seen.version != season.official_version:
            found = standing_versions.latest_pairing_places(conn, season.id)
            seen.version, places, suspects = found
            seen.known.set_places(places, suspects)
        seen.known.count_games(seen.log.numbers, seen.log.games)
        return seen.log.log_no

    def propose_lineups(
        self,
        season: Season,
        *,
        lineups: int,
        rng: Random,
        same_team_lineups: bool = False,
        admissible: Collection[str] | None = None,
    ) -> Proposal:
        """Proposes lineups of the entries that were read, by the log that was read."""
        return self._season(season.id).known.propose_lineups(
            PairingTerms(
                season.seats,
                season.beta,
                season.score_offset,
                same_team_lineups,
                is_open=season.state == "open",
            ),
            lineups=lineups,
            rng=rng,
            admissible=admissible,
        )

    def _season(self, season_id: SeasonId) -> _CachedSeason:
        if season_id not in self._seen:
            self._seen[season_id] = _CachedSeason(SeasonLog(season_id), CandidateReader(season_id))
        return self._seen[season_id]
