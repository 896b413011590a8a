"""The system's Chromium for the tests of the pages, without windows if that can be had."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser")
EXPECTED_MS = 120_000
"""How long a page may take to load and to show what a test expects; a loaded machine is slow."""
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
        started = playwright.chromium.launch(
            executable_path=path, args=list(ARGUMENTS), timeout=EXPECTED_MS
        )
        started.new_context = _patient(started.new_context)  # type: ignore[method-assign]
        started.new_page = _patient(started.new_page)  # type: ignore[method-assign]
        yield started
        started.close()


def _patient(make: Callable[..., Any]) -> Callable[..., Any]:
    """Makes contexts or pages that wait EXPECTED_MS, where Playwright would wait 30 s."""

    def make_patient(**options: Any) -> Any:
        made = make(**options)
        made.set_default_timeout(EXPECTED_MS)
        return made

    return make_patient
