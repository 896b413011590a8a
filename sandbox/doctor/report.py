"""Builds the report: rows, a verdict, and the attack rows that are weaker with each launcher."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sandbox.doctor import checks, machine_facts, probes
from sandbox.doctor.checks import Check, CheckState
from sandbox.doctor.machine_facts import Machine
from sandbox.doctor.probes import ProbeResults
from sandbox.launchers import degraded_defences
from sandbox.launchers.degraded_defences import DegradedRow

FATAL = ("kernel", "seccomp")
"""Rows whose ``missing`` means that no launcher can start a box."""
_ENGINE_REMEDY = "switch the controller on at the kernel's command line, or use bubblewrap as root"


@dataclass(frozen=True)
class DoctorReport:
    """The content of ``peck doctor``."""

    checks: tuple[Check, ...]
    launcher: str | None
    """The launcher that ``auto`` takes here. None if agents cannot be isolated."""
    verdict: str
    """The verdict as one sentence."""
    degraded: Mapping[str, tuple[tuple[str, DegradedRow], ...]]
    """(lack, row) by launcher that works here."""

    def as_json(self) -> dict[str, Any]:
        """Plain values under stable names."""
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
    """Examine this machine as this user. Removes everything it makes."""
    read = machine_facts.read_machine(Path("/"), os.geteuid())
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return build_report(read, probes.run_probes(read), python, platform.machine())


def build_report(
    read: Machine, tried: ProbeResults, python: str, architecture: str
) -> DoctorReport:
    """Build the report from what was read and tried. Changes nothing."""
    rows = checks.judge_machine(read, tried, python, architecture)
    fatal = any(row.name in FATAL and row.state is CheckState.MISSING for row in rows)
    names = () if fatal else checks.working_launchers(tried)
    losses = {
        name: degraded_defences.degraded_rows(
            name,
            root=read.uid == 0,
            limits=tried.limited_groups,
            match_groups=tried.match_group.can_hold_match,
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
    held = f"{count} defences are weaker (see below)" if count else "every defence is complete"
    return f"Agents are isolated here: 'auto' takes {chosen}; {held}."
