"""Reads what a running instance of `peck up` has used: processor time and memory, and its work."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from redis import Redis

from benchmarks.processes import Process, process_table, process_tree, tree_seconds
from ladder.database.db import Connection
from services.run.local_instance import LocalInstance


def processor_seconds(instance: LocalInstance) -> dict[str, float]:
    """Seconds that each part and its children have used. Children count also after they ended."""
    table = process_table()
    return {part: tree_seconds(table, pid) for part, pid in _roots(instance, table).items()}


def memory_mib(instance: LocalInstance) -> dict[str, float]:
    """Memory of each part and its children; shared pages count by their share."""
    table = process_table()
    return {
        part: sum(map(_pss_mib, process_tree(table, [pid])))
        for part, pid in _roots(instance, table).items()
    }


def _roots(instance: LocalInstance, table: Mapping[int, Process]) -> dict[str, int]:
    pids = {part.name: part.child.process.pid for part in instance.parts if part.child is not None}
    return {part: pid for part, pid in pids.items() if pid in table}


def _pss_mib(pid: int) -> float:
    with contextlib.suppress(OSError):
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
        found = re.search(r"^Pss:\s+(\d+)", text, re.MULTILINE)
        return int(found[1]) / 1024 if found else 0.0
    return 0.0


@dataclass(frozen=True)
class Work:
    """Counts of what the servers have done so far."""

    matches: int
    """Accepted rated matches."""
    commits: int
    sessions: int
    """Connections to Postgres."""
    wal_bytes: int
    redis_commands: int

    def __sub__(self, earlier: Work) -> Work:
        return Work(
            self.matches - earlier.matches,
            self.commits - earlier.commits,
            self.sessions - earlier.sessions,
            self.wal_bytes - earlier.wal_bytes,
            self.redis_commands - earlier.redis_commands,
        )


def work_done(conn: Connection, redis: Redis) -> Work:
    """The counts now. Postgres adds those of its sessions with a second's delay."""
    row = conn.execute(
        "select (select coalesce(sum(accepted_no), 0) from seasons), xact_commit, sessions,"
        " (select wal_bytes from pg_stat_wal)"
        " from pg_stat_database where datname = current_database()"
    ).fetchone()
    assert row is not None
    matches, commits, sessions, wal_bytes = map(int, row)
    commands = int(redis.info("stats")["total_commands_processed"])
    return Work(matches, commits, sessions, wal_bytes, commands)
