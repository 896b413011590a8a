"""A newcomer alone: from the address of an instance to a validated submission, and to an answer.

Once in a browser, once with the command line, and once with both: `peck` comes from the site, and
the site says whether the second version is better. Nobody helps, and no mail is sent.
"""

from __future__ import annotations

import functools
import time
from pathlib import Path
from secrets import token_hex

import pytest
from playwright.sync_api import Browser, expect

from tests.acceptance.test_main_path import AGENTS
from tests.drills import stranger
from tests.stack import Stack
from tests.typed import peck

pytestmark = pytest.mark.browser
PASSWORD = "three geese on a torus"
LONGEST_SECONDS = 180
SIZES = {"phone": (390, 844), "desktop": (1280, 900)}
CHECKOUT = Path(__file__).resolve().parents[2]
TURNS_BACK = """
from itertools import cycle

moves = cycle(["NORTH", "SOUTH"])


def agent(observation, configuration):
    return next(moves)
"""
"""An agent that dies at its second move."""


@pytest.fixture(autouse=True)
def league(stack: Stack) -> str:
    """The only open league of the instance; its slug, which is also its title."""
    admin = stack.client(stack.admin_token)
    slug = f"pond-{token_hex(3)}"
    season = {"seats": 2, "configuration": {"episodeSteps": 20}}
    admin.post(
        "/v1/leagues",
        {
            "slug": slug,
            "title": slug,
            "game": "hungry_geese",
            "season": season,
            "anchors": ["greedy"],
            "fill": False,
        },
    )
    return slug


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


@pytest.mark.parametrize("size", SIZES)
def test_a_newcomer_gets_the_command_line_and_an_answer_from_the_site(
    stack: Stack, browser: Browser, league: str, size: str, tmp_path: Path
) -> None:
    began = time.monotonic()
    width, height = SIZES[size]
    with browser.new_context(viewport={"width": width, "height": height}) as context:
        page = context.new_page()
        page.goto(stack.address)
        page.get_by_role("link", name="Sign up").click()
        page.get_by_label("Name").fill(f"Newcomer {size}")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign up").click()
        page.wait_for_url("**/upload*")
        page.goto(stack.address)
        environment = stranger.get_client(page, league, tmp_path, CHECKOUT / ".venv")
        submit = functools.partial(stranger.submit, environment, agent="compiler", league=league)
        submit(TURNS_BACK)
        submit((AGENTS / "greedy" / "main.py").read_text())
        answer = stranger.ask_better(page, stack.address, league, "Greedy", LONGEST_SECONDS / 60)
        assert answer == "Yes: version 2 is better than version 1."
    print(f"{size}: {time.monotonic() - began:.1f} s")
