"""Reads a season's candidates for pairing, and later only those that changed.

Every version of a row names the transaction that wrote it (the system column ``xmin``). So a
reading asks for the rows of transactions that had not ended before the reading before it. That
needs no column, trigger or index, so a change of an entry costs nothing more. While a long
transaction runs, for example a backup, changes since its start are read again each time.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ladder.database.db import Connection
from ladder.ids import AgentId, EntryId, SeasonId, SubmissionId, TeamId
from ladder.matches.pairing import Candidate


def pairing_candidates(conn: Connection, season_id: SeasonId) -> list[Candidate]:
    """Active entries of the season for pairing, except those that rest after a strike."""
    return candidates_by_season(conn, [season_id])[season_id]


def candidates_by_season(
    conn: Connection, season_ids: Collection[SeasonId], *, with_pending: bool = False
) -> dict[SeasonId, list[Candidate]]:
    """Candidates of several seasons; ``with_pending`` adds entries that wait for validation."""
    by_season: dict[SeasonId, list[Candidate]] = {season_id: [] for season_id in season_ids}
    rows = conn.execute(
        """
        select e.season_id, e.id, e.submission_id, e.agent_id, e.team_id, b.digest, e.profile,
               e.mu, e.sigma, e.games, e.in_flight, e.pairing_weight, e.is_anchor
        from entries e join submissions b on b.id = e.submission_id
        where e.season_id = any (%s) and e.state = any (%s)
          and (e.struck_at is null or e.struck_at <= now() - remote_rest_period())
        order by e.id
        """,
        (list(season_ids), ["active", "pending"] if with_pending else ["active"]),
    )
    for season_id, *columns in rows:
        by_season[season_id].append(Candidate(*columns))
    return by_season


def entries_without_matches(conn: Connection, entry_ids: Collection[EntryId]) -> set[EntryId]:
    """Those of these entries that have no rated match, played or waiting.

    They have neither a game nor a match in flight. But a result counts in games only after it is
    rated.
    """
    if not entry_ids:
        return set()
    rows = conn.execute(
        """
        select e.id from unnest(%s::text[]) e(id)
        where not exists (
          select 1 from seats t join matches m on m.id = t.match_id
          where t.entry_id = e.id and m.kind = 'rated' and m.state = 'finished'
        )
        """,
        (sorted(entry_ids),),
    )
    return {EntryId(row[0]) for row in rows}


Floats = NDArray[np.float64]

LEFT: Final = "left"
RESTS: Final = "rests"
SELECT_ENTRIES: Final = """
    select string_agg(id, ' '), string_agg(case when state <> 'active' then 'left'
    when struck_at > now() - remote_rest_period() then 'rests'
    else concat_ws(' ', pairing_weight > 0, is_anchor, team_id,
      case when profile = 'remote' then remote_most_in_flight(strikes) else 0 end, profile) end,
    e'\\n'),
    string_agg(float8send(mu), ''), string_agg(float8send(sigma), ''),
    string_agg(float8send(games), ''), string_agg(float8send(in_flight), ''),
    string_agg(float8send(pairing_weight), '') from entries
    """
"""Returns one row with one long value for each column. Python reads it faster than many rows.

The mark of an entry joins all that can change besides its numbers: whether it is a candidate, its
team and so on. No column may be null, because ``string_agg`` skips nulls: later values would move
to other entries.
"""
CHANGED_SINCE: Final = "age(xmin) <= (select age(%(since)s::xid8::xid))"
"""Condition: the transaction ``since`` or a later one wrote the row."""


@dataclass(frozen=True, slots=True)
class CandidateChanges:
    """What changed since the reading before."""

    changed: list[Candidate]
    """New candidates, and candidates whose mark changed."""
    left: list[EntryId]
    """Entries that are no longer candidates."""
    renumbered: list[EntryId]
    """Candidates whose mark is the same. Their numbers may have changed."""
    numbers: Floats
    """The ``live_numbers`` of those: [5, renumbered]."""


class CandidateReader:
    """Reads the candidates of one season again and again; one per process."""

    def __init__(self, season_id: SeasonId) -> None:
        self._season_id = season_id
        self._server: tuple[int, int] | None = None
        """Connection and server process of the reading before."""
        self._since = ""
        """The oldest transaction that had not ended before the last reading."""
        self._marks: dict[EntryId, str] = {}
        """The mark of each candidate."""
        self._bundles: dict[EntryId, tuple[SubmissionId, AgentId, str]] = {}
        """Submission, agent and digest of entries; they never change."""
        self._resting: set[EntryId] = set()
        """Active entries that rest after a strike: the end of the rest changes no row."""

    def read(self, conn: Connection) -> CandidateChanges:
        """Returns the changes. A new connection reads all: another server may have answered it."""
        server = id(conn), conn.info.backend_pid
        is_first = server != self._server
        row = conn.execute("select pg_snapshot_xmin(pg_current_snapshot())::text").fetchone()
        assert row is not None
        ids, marks, numbers = self._read_columns(
            conn, "state = 'active'" if is_first else CHANGED_SINCE
        )
        new = [
            n
            for n, (entry, mark) in enumerate(zip(ids, marks, strict=True))
            if self._marks.get(entry) != mark
        ]
        self._read_bundles(conn, [ids[n] for n in new if marks[n] not in (LEFT, RESTS)])
        self._server, self._since = server, row[0]
        gone = self._marks.keys() - ids if is_first else set()
        changed = list[Candidate]()
        for n in new:
            entry, mark = ids[n], marks[n]
            self._resting.discard(entry)
            if mark == RESTS:
                self._resting.add(entry)
            if mark in (LEFT, RESTS):
                gone.add(entry)
            else:
                self._marks[entry] = mark
                changed.append(self._make_candidate(entry, numbers[:, n]))
        left = [entry for entry in gone if self._marks.pop(entry, None)]
        for entry in left:
            self._bundles.pop(entry, None)
        same = np.delete(np.arange(len(ids)), new).tolist()
        return CandidateChanges(changed, left, [ids[n] for n in same], numbers[:, same])

    def _read_columns(
        self, conn: Connection, condition: str
    ) -> tuple[list[EntryId], list[str], Floats]:
        """Returns ids, marks and numbers ([5, entries]) of the season's entries that meet the
        condition, and of resting ones.
        """
        if self._resting:  # with an empty list, this would take most of the time
            condition = f"({condition} or id = any (%(resting)s))"
        row = conn.execute(
            f"{SELECT_ENTRIES} where season_id = %(season)s and {condition}",
            {
                "season": self._season_id,
                "since": self._since,
                "resting": sorted(self._resting),
            },
            binary=True,  # faster than text for bytes
        ).fetchone()
        assert row is not None
        if row[0] is None:
            return [], [], np.zeros((5, 0))
        ids, marks, *numbers = row
        values = np.frombuffer(b"".join(numbers), ">f8").astype(np.float64)
        return [EntryId(entry) for entry in ids.split()], marks.split("\n"), values.reshape(5, -1)

    def _make_candidate(self, entry: EntryId, numbers: Floats) -> Candidate:
        submission, agent, digest = self._bundles[entry]
        _, is_anchor, team, most_in_flight, profile = self._marks[entry].split(" ", 4)
        mu, sigma, games, in_flight, weight = numbers.tolist()
        return Candidate(
            entry,
            submission,
            agent,
            TeamId(team),
            digest,
            profile,
            mu,
            sigma,
            int(games),
            int(in_flight),
            weight,
            is_anchor == "t",
            most_in_flight=int(most_in_flight) or None,
        )

    def _read_bundles(self, conn: Connection, entries: Sequence[EntryId]) -> None:
        """Reads submission, agent and digest of entries that are new."""
        new = [entry for entry in entries if entry not in self._bundles]
        if new:
            rows = conn.execute(
                """
                select e.id, e.submission_id, e.agent_id, b.digest from entries e
                join submissions b on b.id = e.submission_id where e.id = any (%s)
                """,
                (new,),
            )
            self._bundles.update({entry: (*bundle,) for entry, *bundle in rows})
