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
from ladder.entries.candidates import CandidateReader
from ladder.ids import EntryId, SeasonId
from ladder.leagues.records import Season
from ladder.matches.durations import UsualSeconds
from ladder.matches.pairing import Proposal
from ladder.ratings import standing_versions
from ladder.ratings.season_log import SeasonLog
from ladder.scheduling.season_field import PairingTerms, SeasonField

READ_AT_ONCE: Final = 5_000
"""Log results per round of the scheduler, so a long log delays no round."""
LAST: Final = 2**31 - 1
"""Highest value of the column; from there on, matches run in order of arrival."""


class FairTurns:
    """Assigns turns of rated matches in their queue, so that league makers share it fairly.

    Turns are start tags of fair queueing. A maker's next turn is the larger of two numbers: the
    least waiting turn, and its own last turn plus one. So turns only grow. Suppose that a match's
    turn is n above the least waiting turn. Then at most n new matches of each other maker overtake
    it. A scheduler that becomes leader starts at the queue's least turn.
    """

    def __init__(self) -> None:
        self._front = 0
        self._next: dict[str, int] = {}

    def set_least_turn(self, front: int | None) -> None:
        """Sets the least waiting turn; an empty queue resets all makers."""
        if front is None:
            self._front, self._next = 0, {}
        else:
            self._front = max(self._front, front)

    def next_turn(self, maker: str) -> int:
        """Returns the turn of this maker's next match."""
        turn = max(self._front, self._next.get(maker, 0))
        self._next[maker] = turn + 1
        return min(turn, LAST)


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
        self._seen = {
            season_id: season for season_id, season in self._seen.items() if season_id in season_ids
        }

    def read_entries(self, conn: db.Connection, season_id: SeasonId) -> None:
        """Reads the entries that changed since the reading before.

        If they cannot be applied, forgets the season: no later reading would return them again.
        """
        cached = self._season(season_id)
        changes = cached.entries.read(conn)
        try:
            cached.known.change_entries(changes.changed, changes.left)
            cached.known.set_numbers(changes.renumbered, changes.numbers)
        except BaseException:
            del self._seen[season_id]
            raise

    def entries_without_matches(
        self, conn: db.Connection, season_id: SeasonId, profiles: Collection[str]
    ) -> set[EntryId]:
        """Returns the competitors with one of these profiles that have no rated match, played or
        waiting, among the entries that were read."""
        idle = self._season(season_id).known.entries_without_games()
        served = {entry.entry_id for entry in idle if entry.profile in profiles}
        return candidates.entries_without_matches(conn, served)

    def read_log(self, conn: db.Connection, season: Season) -> int:
        """Reads more of the season's log, and its newest standing; returns the last number read."""
        cached = self._season(season.id)
        cached.log.read(conn, season.accepted_no, READ_AT_ONCE)
        if cached.reset_count != cached.log.reset_count:
            cached.known, cached.version = cached.known.without_games(), 0
            cached.reset_count = cached.log.reset_count
        if cached.version != season.official_version:
            latest = standing_versions.latest_pairing_places(conn, season.id)
            cached.version, places, suspects = latest
            cached.known.set_places(places, suspects)
        cached.known.count_games(cached.log.numbers, cached.log.games)
        return cached.log.log_no

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
