"""Asks before an act that nobody can undo."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from services.cli.display import printable
from services.cli.saved_login import MissingInput

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do it without a question.")]


def confirm(act: str, consequence: str, yes: bool, as_json: bool) -> None:
    """Asks before the act, such as ``End season 1``, with its consequence as a sentence. Raises
    MissingInput without a terminal, and Abort if the answer is no."""
    if yes:
        return
    if as_json or not sys.stdin.isatty():
        raise MissingInput(f"add --yes to {act[:1].lower()}{act[1:]}: {consequence}")
    typer.confirm(printable(f"{act}? {consequence}"), abort=True)
