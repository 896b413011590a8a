"""The whole examination: rows, a verdict, and the attack rows that hold less with each launcher."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sandbox.doctor import checks, machine, probes
from sandbox.doctor.checks import Check, CheckState
from sandbox.doctor.machine import Machine
from sandbox.doctor.probes import ProbeResults
from sandbox.launchers import degraded
from sandbox.launchers.degraded import DegradedRow

FATAL = ("kernel", "seccomp")
"""Rows whose ``missing`` means that no launcher starts a box."""
_ENGINE_REMEDY = "switch the controller on at the kernel's command line, or use bubblewrap as root"


@dataclass(frozen=True)
class DoctorReport:
    """What ``peck doctor`` prints."""

    checks: tuple[Check, ...]
    launcher: str | None
    """The launcher ``auto`` takes here, None where agents cannot be isolated."""
    verdict: str
    """One sentence."""
    degraded: Mapping[str, tuple[tuple[str, DegradedRow], ...]]
    """(lack, row) by launcher that works here."""

    def as_json(self) -> dict[str, Any]:
        """Plain values under names that stay."""
        return {
            "isolated": self.launcher is not None,
            "launcher": self.launcher,
            "verdict": self.verdict,
            "checks": [asdict(check) for check in self.checks],
            "degraded": {
                name: [{"because": because, **asdict(row)} for because, row in rows]
                for name, rows in self.degraded.items()
            },
        }


def examine_machine() -> DoctorReport:
    """This machine, as this user. Makes things only to try them and removes them."""
    read = machine.read_machine(Path("/"), os.geteuid())
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return build_report(read, probes.run_probes(read), python, platform.machine())


def build_report(
    read: Machine, tried: ProbeResults, python: str, architecture: str
) -> DoctorReport:
    """The report on a machine that was read and tried; touches nothing."""
    rows = checks.judge_machine(read, tried, python, architecture)
    fatal = any(row.name in FATAL and row.state is CheckState.MISSING for row in rows)
    names = () if fatal else checks.working_launchers(tried)
    losses = {
        name: degraded.degraded_rows(
            name,
            root=read.uid == 0,
            limits=tried.limited_groups,
            match_groups=tried.match_group.whole,
            pressure=tried.match_group.pressure,
            steal_monitor=tried.above_all or not read.virtual,
        )
        for name in names
    }
    if "docker" in losses:
        limits = tuple(
            ("the engine", DegradedRow("limits", cannot, _ENGINE_REMEDY))
            for cannot in tried.engine_cannot
        )
        losses["docker"] = (*limits, *losses["docker"])
    chosen = names[0] if names else None
    return DoctorReport(rows, chosen, _verdict(chosen, losses, rows), losses)


def _verdict(
    chosen: str | None,
    losses: Mapping[str, tuple[tuple[str, DegradedRow], ...]],
    rows: tuple[Check, ...],
) -> str:
    named = {row.name: row for row in rows}
    for row in (named[name] for name in FATAL):
        if row.state is CheckState.MISSING:
            return f"Agents cannot be isolated here: {row.costs}. Remedy: {row.remedy}"
    if chosen is None:
        remedy = named["bubblewrap"].remedy
        return f"Agents cannot be isolated here: no engine answers, no box starts. {remedy}"
    count = len(losses[chosen])
    held = "every row of the attack table holds" if not count else f"{count} rows hold less (below)"
    return f"Agents are isolated here: 'auto' takes {chosen}; {held}."
