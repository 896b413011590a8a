"""Runs ``peck`` as a person types it, in this process: a new one imports for half a second."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from services.cli import __main__


def peck(
    folder: Path, environment: Mapping[str, str], *arguments: str
) -> subprocess.CompletedProcess[str]:
    """Exit status and output of the command, run in this folder with this environment alone."""
    status: str | int | None = None
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "environ", dict(environment))
        patch.setattr(sys, "argv", ["peck", *arguments])
        patch.chdir(folder)
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                __main__.main()
            except SystemExit as end:
                status = end.code
    assert status is None or isinstance(status, int), status
    return subprocess.CompletedProcess(arguments, status or 0, out.getvalue(), err.getvalue())
