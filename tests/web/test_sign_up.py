"""A stranger signs up, uploads an agent and manages the account, in a browser."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from ladder.database.db import connect
from ladder.people import tokens
from tests.web.conftest import Site, Tab, press

pytestmark = pytest.mark.browser
PASSWORD = "three geese on a torus"
AGENT = "def agent(observation, configuration):\n    return 'NORTH'\n"


def sign_up(tab: Tab, name: str, onward: str = "") -> Page:
    """Makes an account in this tab."""
    page = tab.open(f"/sign-up{onward}")
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    press(page, "Sign up")
    return page


@pytest.mark.parametrize("script", [True, False], ids=["script", "no script"])
def test_a_stranger_signs_up_and_uploads_an_agent(
    tab: Callable[..., Tab], tmp_path: Path, script: bool
) -> None:
    (tmp_path / "main.py").write_text(AGENT)
    page = tab(width=390, script=script).open("/leagues/hungry-geese")
    page.get_by_role("link", name="Upload an agent").click()
    page.get_by_role("link", name="Sign up").last.click()
    page.get_by_label("Name").fill(f"Newcomer {script}")
    page.get_by_label("Password").fill(PASSWORD)
    press(page, "Sign up")
    expect(page.get_by_role("heading", level=1)).to_have_text("Upload an agent")
    page.get_by_label("League", exact=True).select_option(label="Hungry Geese")
    page.get_by_label("Name of the agent").fill("First Goose")
    page.get_by_label("File").set_input_files(tmp_path / "main.py")
    press(page, "Upload")
    expect(page.get_by_role("heading", level=1)).to_have_text("First Goose")
    expect(page.locator("#submissions")).to_contain_text("in validation")


def test_a_refused_file_is_named_beside_its_field(tab: Callable[..., Tab], tmp_path: Path) -> None:
    (tmp_path / "empty.py").write_text("")
    made = tab()
    page = sign_up(made, "Empty Handed")
    page.get_by_label("League", exact=True).select_option(index=0)
    page.get_by_label("Name of the agent").fill("Nothing")
    page.get_by_label("File").set_input_files(tmp_path / "empty.py")
    press(page, "Upload")
    expect(page.locator("#file-wrong")).to_contain_text("empty")
    made.complaints.clear()  # the browser reports the status 422


def test_a_person_signs_in_again_and_signs_other_browsers_out(
    site: Site, tab: Callable[..., Tab]
) -> None:
    first, second = tab(), tab()
    page = sign_up(first, "Two Browsers", "?next=/me/account")
    other = second.open("/sign-in?next=/me/account")
    other.get_by_label("Name").fill("two browsers")
    other.get_by_label("Password", exact=True).fill(PASSWORD)
    press(other, "Sign in")
    expect(other.get_by_role("heading", level=1)).to_have_text("Sign-in and security")
    page.reload()
    expect(page.locator("#sessions li")).to_have_count(2)
    with page.expect_navigation():
        page.get_by_role("button", name="Sign out Chrome").click()
    expect(page.locator("#sessions li")).to_have_count(1)
    other.reload()
    expect(other.get_by_role("heading", level=1)).to_have_text("Sign in")


def test_a_person_changes_the_password(tab: Callable[..., Tab]) -> None:
    made = tab()
    page = sign_up(made, "Changing", "?next=/me/account")
    page.get_by_label("Present password").fill("not the present one")
    page.get_by_label("New password").fill("another long password")
    press(page, "Change the password")
    expect(page.locator("#present-wrong")).to_be_visible()
    expect(page.get_by_label("Present password")).to_be_focused()
    made.complaints.clear()  # the browser reports the status 422
    page.get_by_label("Present password").fill(PASSWORD)
    page.get_by_label("New password").fill("another long password")
    press(page, "Change the password")
    expect(page.get_by_text("Your password is changed")).to_be_visible()


def test_refused_form_focuses_its_error(site: Site, tab: Callable[..., Tab]) -> None:
    mine = tab()
    page = mine.open("/sign-in")
    page.get_by_label("Name").fill("Nobody at all")
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    press(page, "Sign in")
    expect(page.get_by_label("Name")).to_be_focused()
    page.get_by_label("Token", exact=True).fill("peck_mistyped")
    press(page, "Use the token")
    expect(page.get_by_label("Token", exact=True)).to_be_focused()
    mine.sign_in(site.contest.owner_token)
    page = mine.open("/teams/odo")
    page.get_by_text("Invite people", exact=True).click()
    page.get_by_label("Name of a person").fill("Nobody at all")
    press(page, "Invite")
    expect(page.get_by_role("alert")).to_be_focused()
    mine.complaints.clear()  # the browser reports the status 422


def test_an_old_session_confirms_again_before_it_makes_a_token(
    site: Site, tab: Callable[..., Tab]
) -> None:
    page = sign_up(tab(), "Long Ago", "?next=/me")
    with connect(site.database_url) as conn:
        login, _ = tokens.start_login(conn, "a laptop")
        conn.execute(
            "update sessions set confirmed_at = now() - interval '16 minutes' where user_id ="
            " (select id from users where name = 'Long Ago')"
        )
        conn.commit()
    page.goto(f"{site.address}/device?code={login.code}")
    press(page, "Continue")
    press(page, "Confirm")
    expect(page.get_by_role("heading", level=1)).to_have_text("Confirm that it is you")
    page.get_by_label("Password of Long Ago").fill(PASSWORD)
    press(page, "Confirm")
    expect(page.get_by_role("heading", level=1)).to_have_text("Confirm a device")


def test_a_person_confirms_a_device(site: Site, tab: Callable[..., Tab]) -> None:
    with connect(site.database_url) as conn:
        login, secret = tokens.start_login(conn, "a laptop")
        conn.commit()
    page = sign_up(tab(), "With Laptop", f"?next=/device?code={login.code}")
    expect(page.get_by_label("Code")).to_have_value(login.code)
    press(page, "Continue")
    expect(page.get_by_text("a laptop")).to_be_visible()
    press(page, "Confirm")
    expect(page.get_by_role("status")).to_contain_text("is signed in as With Laptop")
    with connect(site.database_url) as conn:
        assert tokens.redeem_login(conn, secret).token is not None


def test_a_wrong_device_code_says_what_to_do(tab: Callable[..., Tab]) -> None:
    made = tab()
    page = sign_up(made, "Wrong Code", "?next=/device")
    page.get_by_label("Code").fill("AAAA-AAAA")
    press(page, "Continue")
    expect(page.get_by_role("alert")).to_contain_text("peck login")
    made.complaints.clear()  # the browser reports the status 422
