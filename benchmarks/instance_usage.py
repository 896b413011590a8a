"""Reads what a running instance of `peck up` has used: processor time, memory, rows and bytes."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from redis import Redis

from ladder.database.db import Connection
from services.local_instance import LocalInstance

TICKS: Final = os.sysconf("SC_CLK_TCK")
MIB: Final = 1 << 20


@dataclass(frozen=True)
class _Process:
    parent: int
    own_seconds: float
    ended_seconds: float
    """Of its children that have ended."""


def processor_seconds(instance: LocalInstance) -> dict[str, float]:
    """Seconds that each part and its children have used. Children count also after they ended."""
    table = _process_table()
    return {
        part: sum(table[pid].own_seconds + table[pid].ended_seconds for pid in tree)
        for part, tree in _trees(instance, table).items()
    }


def memory_mib(instance: LocalInstance) -> dict[str, float]:
    """Memory of each part and its children; shared pages count by their share."""
    return {
        part: sum(map(_pss_mib, tree)) for part, tree in _trees(instance, _process_table()).items()
    }


def _trees(instance: LocalInstance, table: Mapping[int, _Process]) -> dict[str, set[int]]:
    trees = {}
    for part in instance.parts:
        if part.child is None or part.child.process.pid not in table:
            continue
        tree = {part.child.process.pid}
        while more := {pid for pid, one in table.items() if one.parent in tree} - tree:
            tree |= more
        trees[part.name] = tree
    return trees


def _process_table() -> dict[int, _Process]:
    found = {}
    for name in filter(str.isdecimal, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            fields = Path("/proc", name, "stat").read_text().rpartition(")")[2].split()
            used = [int(field) / TICKS for field in fields[11:15]]
            found[int(name)] = _Process(int(fields[1]), sum(used[:2]), sum(used[2:]))
    return found


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


def table_sizes(conn: Connection) -> dict[str, float]:
    """MiB of each table that holds at least one MiB, with its indexes and partitions."""
    rows = conn.execute(
        "select coalesce(parent.relname, c.relname), sum(pg_total_relation_size(c.oid)) as size"
        " from pg_class c left join pg_inherits i on i.inhrelid = c.oid"
        " left join pg_class parent on parent.oid = i.inhparent"
        " where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace"
        " group by 1 having sum(pg_total_relation_size(c.oid)) >= 1048576 order by 2 desc"
    )
    return {name: float(size) / MIB for name, size in rows}


def folder_size(folder: Path) -> tuple[int, float]:
    """Number of files and MiB of their content."""
    count = size = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                size += os.stat(os.path.join(place, name)).st_size
                count += 1
    return count, size / MIB
