"""A newcomer alone: from the address of an instance to a validated submission.

Once in a browser, once with the command line. Nobody helps, and no mail is sent.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.acceptance.test_main_path import AGENTS
from tests.stack import Stack, running
from tests.typed import peck

pytestmark = pytest.mark.browser
PASSWORD = "three geese on a torus"
LONGEST_SECONDS = 180


@pytest.fixture(scope="module")
def stack() -> Iterator[Stack]:
    with running() as found:
        admin = found.client(found.admin_token)
        league = admin.create_league("geese", "Geese", "hungry_geese")
        admin.create_season(league["id"], seats=2, configuration={"episodeSteps": 20})
        yield found


@pytest.mark.timeout(300)
def test_a_newcomer_with_a_browser_gets_a_validated_agent(stack: Stack, browser: Browser) -> None:
    began = time.monotonic()
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(stack.address)
        page.get_by_role("link", name="Sign up").click()
        page.get_by_label("Name").fill("Grace")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign up").click()
        page.get_by_label("Name of the agent").fill("Compiler")
        page.get_by_label("File").set_input_files(AGENTS / "greedy" / "main.py")
        page.get_by_role("button", name="Upload").click()
        expect(page.locator("#submissions")).to_contain_text(
            "active", timeout=1000 * LONGEST_SECONDS
        )
    print(f"with a browser: {time.monotonic() - began:.1f} s")


@pytest.mark.timeout(300)
def test_a_newcomer_with_the_command_line_gets_a_validated_agent(
    stack: Stack, tmp_path: Path
) -> None:
    environment = {
        "HOME": str(tmp_path),
        "XDG_CONFIG_HOME": str(tmp_path),
        "PECK_PASSWORD": PASSWORD,
    }
    began = time.monotonic()
    made = peck(tmp_path, environment, "sign-up", "Linus", stack.address)
    assert made.returncode == 0, made.stderr
    bundle = str(AGENTS / "random_legal")
    sent = peck(tmp_path, environment, "submit", bundle, "--agent", "kernel", "--wait")
    assert sent.returncode == 0, sent.stderr
    assert "active" in sent.stdout
    print(f"with the command line: {time.monotonic() - began:.1f} s")
