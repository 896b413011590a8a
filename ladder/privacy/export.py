"""Exports everything of a person as a zip file, in pieces.

The file has one JSON file per table of ``RULES``, the bundles and logs of the person's teams, and
replays of their matches that the person may see. Each step reads in a short transaction, so that a
slow reader holds no connection. Bounds: ``MOST_ROWS`` rows of a table, ``MOST_MATCHES`` matches and
``MOST_BYTES`` bytes of files. ``left-out.json`` lists what did not fit.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Protocol, TypeVar

from psycopg import sql

from ladder.database.blobs import Blobs
from ladder.database.db import Connection
from ladder.entries import agents
from ladder.enums import MatchState
from ladder.errors import NotFound
from ladder.ids import AgentId, MatchId
from ladder.matches import history
from ladder.matches.records import Match
from ladder.people.records import Viewer
from ladder.privacy.rules import RULES, Rule

T = TypeVar("T")
MOST_ROWS: Final = 20_000
MOST_MATCHES: Final = 2_000
MOST_BYTES: Final = 4 << 30
MATCHES_AT_ONCE: Final = 50
READ_ME: Final = """\
What {address} stores about {name}, read at {at}.

data/      one file for each kind of row; times have their zone
bundles/   the files that your teams uploaded
logs/      what your agents printed, gzip of JSON, by match and seat
replays/   matches of your agents that you may see, gzip of JSON
left-out.json   files that did not fit or that were deleted meanwhile; [] if there are none

Not in the file: passwords and tokens, of which only hashes are stored. {address}/privacy says how
long each kind is kept.
"""


class Read(Protocol):
    """Runs a function in a short read transaction and returns its result."""

    def __call__(self, work: Callable[[Connection], T]) -> T: ...


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """A blob and its path in the zip file."""

    path: str
    digest: str


class PiecewiseZip:
    """Writes a zip file whose bytes are taken away piece by piece."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._zip = zipfile.ZipFile(self, "w", zipfile.ZIP_DEFLATED)  # type: ignore[call-overload]

    def write(self, piece: bytes) -> int:
        """Called by the zip file, which cannot seek here."""
        self._pieces.append(bytes(piece))
        return len(piece)

    def flush(self) -> None:
        """Called by the zip file."""

    def add(
        self, path: str, chunks: Iterator[bytes], *, is_packed: bool = False
    ) -> Iterator[bytes]:
        """Adds a file; yields the bytes that are ready."""
        info = zipfile.ZipInfo(path, datetime.now(UTC).timetuple()[:6])
        info.compress_type = zipfile.ZIP_STORED if is_packed else zipfile.ZIP_DEFLATED
        with self._zip.open(info, "w", force_zip64=True) as file:
            for chunk in chunks:
                file.write(chunk)
                yield self.take()
        yield self.take()

    def close(self) -> bytes:
        """Ends the file; returns its last bytes."""
        self._zip.close()
        return self.take()

    def take(self) -> bytes:
        taken = b"".join(self._pieces)
        self._pieces.clear()
        return taken


def export_person(read: Read, blobs: Blobs, viewer: Viewer, address: str) -> Iterator[bytes]:
    """Yields the zip file of this person. ``address`` is the site's."""
    assert viewer.user_id is not None
    archive, left_out = PiecewiseZip(), []
    at = datetime.now(UTC).isoformat(timespec="seconds")
    text = READ_ME.format(address=address, name=viewer.name, at=at)
    yield from archive.add("README.txt", iter([text.encode()]))
    for rule in RULES:
        rows, is_whole = read(lambda conn, rule=rule: exported_rows(conn, rule, viewer))  # type: ignore[misc]
        if rows:
            content = json.dumps(rows, indent=1, ensure_ascii=False).encode()
            yield from archive.add(f"data/{rule.table}.json", iter([content]))
        if not is_whole:
            left_out.append(f"data/{rule.table}.json: only {MOST_ROWS} rows")
    room = MOST_BYTES
    for file in _files(read, viewer):
        try:
            chunks = blobs.open(file.digest)
        except NotFound:
            left_out.append(f"{file.path}: deleted")
            continue
        if room <= 0:
            left_out.append(f"{file.path}: the file would be too large")
            continue
        for piece in archive.add(file.path, chunks, is_packed=True):
            room -= len(piece)
            yield piece
    yield from archive.add("left-out.json", iter([json.dumps(left_out, indent=1).encode()]))
    yield archive.close()


def exported_rows(
    conn: Connection, rule: Rule, viewer: Viewer
) -> tuple[list[dict[str, Any]], bool]:
    """Returns a person's rows of a table without secrets, and whether these are all."""
    where = rule.mine if rule.exported is None else rule.exported
    if not where:
        return [], True
    query = sql.SQL(
        "select to_jsonb(x) - %(secret)s::text[] from {} x where {} limit %(most)s"
    ).format(sql.Identifier(rule.table), sql.SQL(where))
    values = {
        "user": viewer.user_id,
        "teams": sorted(viewer.team_ids),
        "leagues": [],
        "secret": list(rule.secret),
        "most": MOST_ROWS + 1,
    }
    rows = [row[0] for row in conn.execute(query, values)]
    return rows[:MOST_ROWS], len(rows) <= MOST_ROWS


def _files(read: Read, viewer: Viewer) -> Iterator[ExportedFile]:
    """Bundles, then logs and replays of the newest matches of each agent."""
    bundles = read(lambda conn: _bundles(conn, viewer))
    yield from bundles
    match_ids: set[MatchId] = set()
    for agent_id in read(lambda conn: _agent_ids(conn, viewer)):
        before: MatchId | None = None
        while len(match_ids) < MOST_MATCHES:
            page = read(
                lambda conn, agent_id=agent_id, before=before: _match_files(  # type: ignore[misc]
                    conn, viewer, agent_id, before
                )
            )
            for match_id, files in page:
                if match_id not in match_ids:
                    match_ids.add(match_id)
                    yield from files
            if len(page) < MATCHES_AT_ONCE:
                break
            before = page[-1][0]


def _bundles(conn: Connection, viewer: Viewer) -> list[ExportedFile]:
    query = """select a.slug, s.number, s.filename, s.digest from submissions s
        join agents a on a.id = s.agent_id
        where a.team_id = any (%(team_ids)s) order by s.number desc"""
    rows = conn.execute(query, {"team_ids": sorted(viewer.team_ids)})
    return [
        ExportedFile(f"bundles/{slug}/{number}-{_plain_name(filename)}", digest)
        for slug, number, filename, digest in rows
    ]


def _agent_ids(conn: Connection, viewer: Viewer) -> list[AgentId]:
    return [
        agent.id
        for team_id in sorted(viewer.team_ids)
        for agent in agents.list_agents(conn, viewer=viewer, team_id=team_id, limit=MOST_ROWS)
    ]


def _match_files(
    conn: Connection, viewer: Viewer, agent_id: AgentId, before: MatchId | None
) -> list[tuple[MatchId, list[ExportedFile]]]:
    """The files of an agent's matches older than ``before``, newest first."""
    played = history.list_matches(
        conn,
        viewer=viewer,
        agent_id=agent_id,
        state=MatchState.FINISHED,
        before=before,
        limit=MATCHES_AT_ONCE,
    )
    return [(match.id, [*_logs(match, viewer), *_replays(match)]) for match in played]


def _logs(match: Match, viewer: Viewer) -> list[ExportedFile]:
    return [
        ExportedFile(f"logs/{match.id}-{seat.seat}.json.gz", seat.log_digest)
        for seat in match.seats
        if seat.log_digest is not None and seat.team_id in viewer.team_ids
    ]


def _replays(match: Match) -> list[ExportedFile]:
    return [
        ExportedFile(f"replays/{match.id}-{episode.position}.json.gz", episode.replay_digest)
        for episode in match.episodes
        if match.access.has_replay
    ]


def _plain_name(filename: str) -> str:
    """A file name that no program that unpacks the file takes for a path."""
    return re.sub(r"[^A-Za-z0-9._-]+", "_", filename).lstrip(".")[-80:] or "bundle"
