"""The system's Chromium for the tests of the pages, without windows if that can be had."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser")
EXPECTED_MS = 60_000
"""How long a page may take to show what a test expects; a loaded machine draws late."""
ARGUMENTS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@contextmanager
def chromium() -> Iterator[Browser]:
    """Runs the system's Chromium. Skips the test without one; under CI the test fails."""
    path = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if path is None:
        line = "no Chromium for the tests of the pages: apt-get install -y chromium"
        if os.environ.get("CI") == "true":
            pytest.fail(line, pytrace=False)
        pytest.skip(line)
    expect.set_options(timeout=EXPECTED_MS)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        yield started
        started.close()
