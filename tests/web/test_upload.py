"""Uploading in a browser: the template in one click, and several dropped files as one archive."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from ladder.database.db import connect
from tests.web.conftest import Site, Tab, press

pytestmark = pytest.mark.browser

DROP = """([zone, files]) => {
  const transfer = new DataTransfer();
  for (const [name, text] of files) transfer.items.add(new File([text], name));
  zone.dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, bubbles: true }));
}"""


def drop(page: Page, files: list[tuple[str, str]]) -> None:
    zone = page.locator("[data-drop]").element_handle()
    page.evaluate(DROP, [zone, files])


def test_the_template_is_an_agent_in_two_clicks(site: Site, tab: Callable[..., Tab]) -> None:
    mine = tab(width=390)
    mine.sign_in(site.contest.owner_token)
    page = mine.open("/upload?league=hungry-geese")
    page.get_by_label("League").select_option(label="Snake")
    expect(page.get_by_text("This is a whole agent for Snake")).to_be_visible()
    page.get_by_label("League").select_option(label="Hungry Geese")
    expect(page.get_by_text("This is a whole agent for Snake")).to_be_hidden()
    page.get_by_role("button", name="Use this agent").click()
    expect(page.locator("[data-told]")).to_have_text("The template is ready to upload as main.py.")
    assert page.get_by_label("Name of the new agent").input_value() == "My first agent"
    press(page, "Upload")
    assert "/agents/age_" in page.url
    assert "My first agent" in page.get_by_role("heading", level=1).inner_text()
    expect(page.locator("#submissions")).to_contain_text("in validation")
    progress = page.get_by_role("list", name="Progress of version")
    expect(progress.locator(".now")).to_have_text("Validation")


def test_dropped_files_become_one_archive(site: Site, tab: Callable[..., Tab]) -> None:
    mine = tab()
    mine.sign_in(site.contest.owner_token)
    page = mine.open("/upload?league=hungry-geese")
    drop(page, [("main.py", "import helper\nagent = helper.agent\n"), ("helper.py", "x" * 700)])
    expect(page.locator("[data-told]")).to_contain_text("2 files are ready to upload")
    page.get_by_label("Name of the new agent").fill("Two files")
    press(page, "Upload")
    with connect(site.database_url) as conn:
        row = conn.execute(
            "select s.digest, s.filename from submissions s join agents a on a.id = s.agent_id"
            " where a.name = 'Two files'"
        ).fetchone()
    assert row is not None
    assert row[1] == "agent.tar"
    content = b"".join(site.blobs.open(row[0]))
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        assert archive.getnames() == ["main.py", "helper.py"]
        found = archive.extractfile("helper.py")
        assert found is not None
        assert found.read() == b"x" * 700


def _zipped(name: str) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("README.md", "about " * 100)
        archive.writestr(name, "agent = lambda board: 'NORTH'\n")
    return content.getvalue()


def _tarred() -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("main.py"))
    return content.getvalue()


def _choose(page: Page, name: str, content: bytes) -> None:
    page.get_by_label("File").set_input_files(
        {"name": name, "mimeType": "application/octet-stream", "buffer": content}
    )


def test_a_file_that_is_too_large_is_not_sent(site: Site, tab: Callable[..., Tab]) -> None:
    mine = tab(width=375)
    mine.sign_in(site.contest.owner_token)
    page = mine.open("/upload?league=hungry-geese")
    page.get_by_label("Name of the new agent").fill("Large")
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.method))
    page.evaluate(
        """zone => {
          const transfer = new DataTransfer();
          transfer.items.add(new File([new Uint8Array(101 << 20)], "large.tar.gz"));
          zone.dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, bubbles: true }));
        }""",
        page.locator("[data-drop]").element_handle(),
    )
    told = page.locator("[data-told]")
    expect(told).to_contain_text("large.tar.gz has 101 MB; this league takes at most 100 MB.")
    page.get_by_role("button", name="Upload").click()
    page.wait_for_timeout(300)
    assert sent == []
    _choose(page, "main.py", b"agent = lambda board: 'NORTH'\n")
    expect(told).to_have_text("")
    press(page, "Upload")
    assert "/agents/age_" in page.url


def test_page_does_not_send_a_text_file(site: Site, tab: Callable[..., Tab]) -> None:
    mine = tab()
    mine.sign_in(site.contest.owner_token)
    page = mine.open("/upload?league=hungry-geese")
    _choose(page, "readme.txt", b"Read this first.")
    expect(page.locator("[data-told]")).to_contain_text("readme.txt is neither a Python file")
    assert not page.get_by_label("File").evaluate("input => input.checkValidity()")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("agent.v2", _tarred()),
        ("agent.v2", gzip.compress(_tarred())),
        ("agent.v2", _zipped("main.py")),
        ("agent", _tarred()),
        ("main", b"agent = lambda board: 'NORTH'\n"),
    ],
    ids=["tar", "tar.gz", "zip", "tar without suffix", "Python without suffix"],
)
def test_page_sends_an_agent_of_any_name(
    site: Site, tab: Callable[..., Tab], name: str, content: bytes
) -> None:
    mine = tab()
    mine.sign_in(site.contest.owner_token)
    page = mine.open("/upload?league=hungry-geese")
    page.get_by_label("Name of the new agent").fill("Odd names")
    _choose(page, name, content)
    expect(page.get_by_label("File")).to_have_attribute("aria-invalid", "false")
    press(page, "Upload")
    assert "/agents/age_" in page.url


@pytest.mark.parametrize(
    ("name", "refusal"),
    [
        ("goose/main.py", "There is goose/main.py: pack the content of its folder."),
        ("agent.py", "agent.zip has no main.py and no peck.json at the root."),
        ("main.py", None),
        ("./peck.json", None),
    ],
)
def test_an_archive_that_cannot_start_is_not_sent(
    site: Site, tab: Callable[..., Tab], name: str, refusal: str | None
) -> None:
    mine = tab()
    mine.sign_in(site.contest.owner_token)
    page = mine.open("/upload?league=hungry-geese")
    _choose(page, "agent.zip", _zipped(name))
    told = page.locator("[data-told]")
    if refusal:
        expect(told).to_contain_text(refusal)
    else:
        expect(page.get_by_label("File")).to_have_attribute("aria-invalid", "false")
    is_valid = page.get_by_label("File").evaluate("input => input.checkValidity()")
    assert is_valid is (refusal is None)


def test_dropped_files_without_a_start_are_refused(site: Site, tab: Callable[..., Tab]) -> None:
    mine = tab()
    mine.sign_in(site.contest.owner_token)
    page = mine.open("/upload?league=hungry-geese")
    drop(page, [("agent.py", "x"), ("helper.py", "y")])
    expect(page.locator("[data-told]")).to_contain_text("no main.py and no peck.json")
    drop(page, [("main.py", "x"), ("helper.py", "y")])
    expect(page.locator("[data-told]")).to_have_text("2 files are ready to upload as agent.tar.")
