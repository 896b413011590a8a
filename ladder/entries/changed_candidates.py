"""Reads a season's candidates for pairing, and later only those that changed.

Every version of a row names the transaction that wrote it (the system column ``xmin``). So a
reading asks for the rows of transactions that had not ended before the reading before it. That
needs no column, trigger or index, so a change of an entry costs nothing more. While a long
transaction runs, for example a backup, changes since its start are read again each time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ladder.database.db import Connection
from ladder.ids import EntryId, SeasonId
from ladder.matches.pairing import Candidate

SELECT_ENTRIES: Final = (
    "select state = 'active', struck_at is null or struck_at <= now() - remote_rest_period(), id,"
    " submission_id, agent_id, team_id, profile, mu, sigma, games, in_flight, pairing_weight,"
    " is_anchor from entries"
)
CHANGED_SINCE: Final = "age(xmin) <= (select age(%(since)s::xid8::xid))"
"""Condition: the transaction ``since`` or a later one wrote the row."""


@dataclass(frozen=True, slots=True)
class CandidateChanges:
    """What changed since the reading before."""

    changed: list[Candidate]
    """Candidates that came or changed; some may be as before."""
    left: list[EntryId]
    """Entries that are no candidates, and may have been some."""
    all_read: bool
    """Whether ``changed`` holds all candidates, and no other entry is one."""


class CandidateReader:
    """Reads the candidates of one season again and again; one per process."""

    def __init__(self, season_id: SeasonId) -> None:
        self._season_id = season_id
        self._server: tuple[int, int] | None = None
        """Connection and server process of the reading before."""
        self._since = ""
        """The oldest transaction that had not ended before the last reading."""
        self._digests: dict[EntryId, str] = {}
        self._resting: set[EntryId] = set()
        """Active entries that rest after a strike: the end of the rest changes no row."""

    def read(self, conn: Connection) -> CandidateChanges:
        """Returns the changes. A new connection reads all: another server may have answered it."""
        server = id(conn), conn.info.backend_pid
        is_first = server != self._server
        row = conn.execute("select pg_snapshot_xmin(pg_current_snapshot())::text").fetchone()
        assert row is not None
        condition = "state = 'active'" if is_first else CHANGED_SINCE
        if self._resting:  # with an empty list, this would take most of the time
            condition = f"({condition} or id = any (%(resting)s))"
        found = conn.execute(
            f"{SELECT_ENTRIES} where season_id = %(season)s and {condition}",
            {
                "season": self._season_id,
                "since": self._since,
                "resting": sorted(self._resting),
            },
            binary=True,  # faster than text for many numbers
        ).fetchall()
        self._server, self._since = server, row[0]
        self._read_digests(conn, [row[2] for row in found if row[0]])
        changed, left = list[Candidate](), list[EntryId]()
        for active, rested, entry, submission, agent, team, *numbers in found:
            if active and rested:
                digest = self._digests[entry]
                changed.append(Candidate(entry, submission, agent, team, digest, *numbers))
            else:
                left.append(entry)
            if active and not rested:
                self._resting.add(entry)
            else:
                self._resting.discard(entry)
        return CandidateChanges(changed, left, is_first)

    def _read_digests(self, conn: Connection, entries: Sequence[EntryId]) -> None:
        """Reads the digests of entries that are new; a digest never changes."""
        new = [entry for entry in entries if entry not in self._digests]
        if new:
            rows = conn.execute(
                "select e.id, b.digest from entries e join submissions b on b.id = e.submission_id"
                " where e.id = any (%s)",
                (new,),
            )
            self._digests.update(rows.fetchall())
