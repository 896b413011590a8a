"""Passkeys in Chromium, with its virtual authenticator, and an identity provider in a browser."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from ladder.database.db import connect
from tests.integration.api.identity_site import CLIENT, honest
from tests.web.conftest import Site, press, served
from tests.web.seeding import Contest
from tests.web.test_accessibility import CONTRAST, NAMES

pytestmark = pytest.mark.browser
PASSWORD = "three geese on a torus"
__all__ = ("honest",)


@pytest.fixture(scope="module")
def named_site(
    seeded_database: tuple[str, str, Contest],
    tmp_path_factory: pytest.TempPathFactory,
    honest: str,
) -> Iterator[Site]:
    """The site under a name: browsers offer no passkeys for an IP address."""
    provider = {**CLIENT, "key": "honest", "name": "University", "issuer": honest}
    log = tmp_path_factory.mktemp("server") / "log"
    environment = {"PECK_IDENTITY_PROVIDERS": json.dumps([provider])}
    with served(seeded_database, log, "localhost", **environment) as made:
        yield made


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page whose device has an authenticator that verifies its person."""
    context = browser.new_context(viewport={"width": 390, "height": 844})
    made = context.new_page()
    device = context.new_cdp_session(made)
    device.send("WebAuthn.enable", {"enableUI": False})
    options = {
        "protocol": "ctap2",
        "transport": "internal",
        "hasResidentKey": True,
        "hasUserVerification": True,
        "isUserVerified": True,
        "automaticPresenceSimulation": True,
    }
    device.send("WebAuthn.addVirtualAuthenticator", {"options": options})
    complaints: list[str] = []
    made.on("pageerror", lambda error: complaints.append(str(error)))
    yield made
    context.close()
    assert complaints == []


def sign_up(site: Site, page: Page, name: str) -> None:
    page.goto(f"{site.address}/sign-up?next=/me/account")
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    press(page, "Sign up")


def grow_old(site: Site, name: str) -> None:
    """Makes the confirmation of this person's sessions too old."""
    with connect(site.database_url) as conn:
        conn.execute(
            "update sessions set confirmed_at = now() - interval '16 minutes'"
            " where user_id = (select id from users where name = %s)",
            (name,),
        )
        conn.commit()


def test_a_person_adds_a_passkey_and_signs_in_confirms_and_removes_it(
    named_site: Site, page: Page
) -> None:
    sign_up(named_site, page, "Peg Holder")
    with page.expect_navigation():
        page.get_by_role("link", name="Add a passkey").click()
    check(page)
    page.get_by_label("Name of the passkey").fill("My phone")
    press(page, "Add the passkey")
    expect(page.locator("#passkeys")).to_contain_text("My phone")
    expect(page.get_by_role("status")).to_contain_text("The passkey is added")
    page.get_by_role("link", name="Add a passkey").click()
    page.get_by_role("button", name="Add the passkey").click()
    expect(page.get_by_role("alert")).to_have_text("This device already has a passkey of yours.")
    page.goto(f"{named_site.address}/me")
    page.get_by_role("button", name="Sign out").click()
    page.goto(f"{named_site.address}/sign-in?next=/me/account")
    check(page)
    press(page, "Use a passkey")
    expect(page.locator("#passkeys")).to_contain_text("last used")
    check(page)
    grow_old(named_site, "Peg Holder")
    press(page, "Make ten new codes")
    expect(page.get_by_role("heading", level=1)).to_have_text("Confirm that it is you")
    check(page)
    press(page, "Confirm with a passkey")
    press(page, "Make ten new codes")
    expect(page.get_by_role("heading", level=1)).to_have_text("Recovery codes")
    check(page)
    with page.expect_navigation():  # a page that jumps to its part takes the focus from a button
        page.get_by_role("link", name="I have stored them").click()
    press(page, "Remove My phone")
    expect(page.locator("#passkeys")).to_contain_text("None")
    page.get_by_role("button", name="Sign out", exact=True).click()
    page.goto(f"{named_site.address}/sign-in")
    press(page, "Use a passkey")
    expect(page.get_by_role("alert").first).to_contain_text("does not know this passkey")


def check(page: Page) -> None:
    """Checks names, contrast and width of this page on a phone."""
    page.wait_for_load_state()
    assert page.evaluate(NAMES) == [], page.url
    assert page.evaluate(CONTRAST) == [], page.url
    assert page.evaluate("document.documentElement.scrollWidth") <= 390, page.url


def test_a_person_signs_up_at_a_provider_in_a_browser(named_site: Site, page: Page) -> None:
    page.goto(f"{named_site.address}/sign-up")
    with page.expect_navigation(url="**/oauth2/authorize*"):
        page.get_by_role("button", name="Continue with University").click()
    page.get_by_placeholder("sub").fill("grace@example.edu")
    page.get_by_role("button", name="Authorize").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Choose a name")
    check(page)
    page.get_by_label("Name").fill("Grace of the University")
    press(page, "Sign up")
    expect(page.get_by_role("heading", level=1)).to_have_text("Upload an agent")
    page.goto(f"{named_site.address}/me/account")
    expect(page.locator("#identities")).to_contain_text("grace@example.edu")


def test_a_site_at_an_ip_address_offers_no_passkeys(site: Site) -> None:
    assert "passkey" not in site.get("/sign-in").text
    token = site.contest.owner_token
    assert site.get("/me/passkeys/new", token).status_code == 404
