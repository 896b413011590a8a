"""``peck doctor``: checks the sandbox of this machine and explains what is missing."""

from __future__ import annotations

from typing import Annotated

import typer

from sandbox.doctor import Check, CheckState, DoctorReport, examine_machine
from services.cli.display import print_json, show_checks, styled

STYLES = {
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
    show_checks(
        (check.state, STYLES[check.state], check.name, _check_text(check))
        for check in report.checks
    )
    print(f"\n{styled(report.verdict, 'bold' if report.launcher else 'red')}")
    for launcher, rows in report.degraded.items():
        if not rows:
            print(f"\nWith {launcher} every row of the attack table is fully protected.")
            continue
        print(f"\nDegraded with {launcher}:")
        show_checks(
            ("", "dim", row.attack, f"{row.costs}\n{because}; {row.remedy}")
            for because, row in rows
        )


def _check_text(check: Check) -> str:
    costs = f"\ncosts: {check.costs}" if check.costs else ""
    remedy = f"\nremedy: {check.remedy}" if check.remedy else ""
    return f"{check.found}{costs}{remedy}"


def register(app: typer.Typer) -> None:
    """Adds the command ``doctor``."""
    app.command("doctor")(doctor)
