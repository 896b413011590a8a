"""A stranger opens the site in a browser and has a rated agent: the walk with its times.

scripts/drill stranger-walk

A real instance runs on this machine, with one league of Hungry Geese and its reference agents. The
stranger opens the home page, makes an account, takes the template and uploads it. The times count
from the press of the last button. They mean something on a quiet machine alone. The drill exits
with 1 if a step of the walk cannot be done.
"""

from __future__ import annotations

import sys
import time

from playwright.sync_api import Page, expect

from benchmarks.report_tables import aligned, describe_machine
from tests.browsers import chromium
from tests.stack import running

PATIENCE_MS = 120_000
AIMS = {"validated": 3, "first rated match": 10}
RESIDENTS = ("greedy", "survivor", "random-legal")


def walk(page: Page, address: str) -> dict[str, float]:
    """Seconds from the upload to the agent's states."""
    page.set_default_timeout(PATIENCE_MS)
    page.goto(address)
    page.get_by_role("link", name="Send your agent").click()
    page.get_by_label("Name").fill("A stranger")
    page.get_by_label("Password", exact=True).fill("three geese on a torus")
    page.get_by_role("main").get_by_role("button", name="Sign up").click()
    page.wait_for_url("**/upload*")
    page.get_by_role("button", name="Use this agent").click()
    page.get_by_role("main").get_by_role("button", name="Upload").click()
    began = time.monotonic()
    page.wait_for_url("**/agents/*")
    submissions = page.locator("#submissions")
    expect(submissions).to_contain_text("active", timeout=PATIENCE_MS)
    found = {"validated": time.monotonic() - began}
    games = page.locator(".facts dt", has_text="Games").locator("xpath=..")
    while games.inner_text().endswith("0"):
        page.wait_for_timeout(250)
        page.reload()
    return {**found, "first rated match": time.monotonic() - began}


def main() -> int:
    print(describe_machine())
    with running() as stack, chromium() as browser:
        host = stack.client(stack.admin_token)
        season = {"seats": 4}
        anchors = list(RESIDENTS)
        host.create_league(
            "geese", "Geese", "hungry_geese", season=season, anchors=anchors, fill=True
        )
        time.sleep(10)  # the reference agents pass their validations
        found = walk(browser.new_page(), stack.address)
    rows = [["seconds from upload to", "took", "aim"]]
    rows += [[name, f"{took:.1f}", str(AIMS[name])] for name, took in found.items()]
    print(aligned(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
