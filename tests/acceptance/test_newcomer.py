"""A newcomer alone: from the address of an instance to a validated submission.

Once in a browser, once with the command line. Nobody helps, and no mail is sent.
"""

from __future__ import annotations

import time
from pathlib import Path
from secrets import token_hex

import pytest
from playwright.sync_api import Browser, expect

from tests.acceptance.test_main_path import AGENTS
from tests.stack import Stack
from tests.typed import peck

pytestmark = pytest.mark.browser
PASSWORD = "three geese on a torus"
LONGEST_SECONDS = 180


@pytest.fixture(autouse=True)
def league(stack: Stack) -> None:
    """The only open league of the instance."""
    admin = stack.client(stack.admin_token)
    made = admin.create_league(f"pond-{token_hex(3)}", "Pond", "hungry_geese")
    admin.create_season(made["id"], seats=2, configuration={"episodeSteps": 20})


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
