"""``peck doctor``: checks the sandbox of this machine and explains what is missing."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from sandbox.doctor.checks import Check, CheckState, DoctorReport, examine_machine
from services.cli.display import print_json, stdout

COLOURS = {
    CheckState.OK: "green",
    CheckState.DEGRADED: "yellow",
    CheckState.MISSING: "red",
    CheckState.NOT_NEEDED: "dim",
}


def doctor(
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object instead of a table.")
    ] = False,
) -> None:
    """Check how well this machine can isolate agents.

    Needs no running service, no network, and changes nothing. Exits with 1 if agents cannot be
    isolated.
    """
    report = examine_machine()
    if as_json:
        print_json(report.as_json())
    else:
        _print_report(report)
    if report.launcher is None:
        raise typer.Exit(1)


def _print_report(report: DoctorReport) -> None:
    shown = Table(box=None, show_header=False, pad_edge=False)
    shown.add_column(no_wrap=True)
    shown.add_column(no_wrap=True)
    shown.add_column(overflow="fold")
    for check in report.checks:
        shown.add_row(
            Text(check.state, COLOURS[check.state]), Text(check.name, "bold"), _check_text(check)
        )
    stdout.print(shown)
    stdout.print()
    stdout.print(Text(report.verdict, "bold" if report.launcher else "bold red"))
    for name, rows in report.degraded.items():
        stdout.print()
        if not rows:
            stdout.print(f"With {name} every row of the attack table is fully protected.")
            continue
        stdout.print(f"Degraded with {name}:")
        listed = Table(box=None, show_header=False, pad_edge=False, padding=(0, 1, 0, 2))
        listed.add_column(overflow="fold", max_width=30)
        listed.add_column(overflow="fold")
        for because, row in rows:
            told = Text(f"{row.costs}\n")
            told.append(f"{because}; {row.remedy}", "dim")
            listed.add_row(Text(row.attack, "bold"), told)
        stdout.print(listed)


def _check_text(check: Check) -> Text:
    told = Text(check.found)
    if check.costs:
        told.append(f"\ncosts: {check.costs}")
    if check.remedy:
        told.append(f"\nremedy: {check.remedy}", "cyan")
    return told


def register(app: typer.Typer) -> None:
    """Adds the command ``doctor``."""
    app.command("doctor")(doctor)
