"""Reads the processes of this machine: parents, commands and processor time."""

from __future__ import annotations

import contextlib
import os
import resource
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

TICKS: Final = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Process:
    """A process at one moment."""

    parent: int
    command: str
    own_seconds: float
    """Processor time, with ended threads."""
    ended_seconds: float
    """Of its children that have ended."""


def process_table() -> dict[int, Process]:
    """All processes by their numbers."""
    table = {}
    for pid in map(int, filter(str.isdecimal, os.listdir("/proc"))):
        with contextlib.suppress(OSError):
            table[pid] = read_process(pid)
    return table


def read_process(pid: int) -> Process:
    """One process; raises ``OSError`` if it has ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    used = [int(field) / TICKS for field in fields[11:15]]
    command = Path(f"/proc/{pid}/cmdline").read_text(errors="replace")
    return Process(int(fields[1]), command, sum(used[:2]), sum(used[2:]))


def process_tree(table: Mapping[int, Process], roots: Iterable[int]) -> set[int]:
    """These processes with their children, and so on."""
    tree = set(roots)
    while more := {pid for pid, process in table.items() if process.parent in tree} - tree:
        tree |= more
    return tree


def tree_seconds(table: Mapping[int, Process], root: int) -> float:
    """Processor time of a process and its children, also of those that have ended."""
    tree = process_tree(table, [root])
    return sum(table[pid].own_seconds + table[pid].ended_seconds for pid in tree)


def allow_files(count: int) -> None:
    """Let this process and its children open so many files, if that is permitted."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(count, hard)), hard))
