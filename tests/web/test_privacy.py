"""A person takes their data with them and deletes their account, in a browser."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path
from secrets import token_hex

import pytest

from ladder.privacy.rules import RULES
from tests.web.conftest import Site, Tab, press

pytestmark = pytest.mark.browser
PASSWORD = "three geese on a torus"


def sign_up(tab: Tab) -> str:
    name = f"Gone {token_hex(4)}"
    page = tab.open("/sign-up")
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    press(page, "Sign up")
    return name


def test_person_exports_and_deletes_their_account(tab: Callable[..., Tab], tmp_path: Path) -> None:
    mine = tab()
    name = sign_up(mine)
    page = mine.open("/me/data")
    with page.expect_download() as started:
        page.get_by_role("link", name="Download my data").click()
    started.value.save_as(tmp_path / "export.zip")
    with zipfile.ZipFile(tmp_path / "export.zip") as packed:
        assert name.encode() in packed.read("data/users.json")
    page.get_by_label("Your name, to confirm").fill("Somebody")
    press(page, "Delete my account for good")
    assert page.get_by_text("Type your name exactly").is_visible()
    mine.complaints.clear()  # the browser reports the answer 422
    page.get_by_label("Your name, to confirm").fill(name)
    press(page, "Delete my account for good")
    assert page.get_by_role("heading", name="Your account is deleted").is_visible()
    mine.open("/me")
    assert "/sign-in" in page.url


def test_export_link_works_for_its_person_alone(site: Site, tab: Callable[..., Tab]) -> None:
    first, second = tab(), tab()
    sign_up(first)
    link = first.open("/me/data").get_by_role("link", name="Download my data")
    address = str(link.get_attribute("href"))
    sign_up(second)
    response = second.page.request.get(site.address + address, headers={"Accept": "text/html"})
    assert response.status == 403
    assert "not yours" in response.text()


def test_privacy_page_describes_every_kind_of_data(site: Site) -> None:
    page = site.get("/privacy").text
    for rule in RULES:
        assert not rule.about or rule.stays in page
    assert page.count('<th scope="row">') == sum(bool(rule.about) for rule in RULES)
