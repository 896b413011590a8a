"""How a host imports a roster on its page, from a text or a file."""

from __future__ import annotations

import re
from html import unescape

import httpx
import pytest

from tests.integration.api.browsing import Browser, browse
from tests.integration.api.shared import fresh_world as fresh_world
from tests.integration.api.world import World

PATH = "/leagues/private/roster"
ROSTER = "name,team,role,external_id\nAda Lovelace,Engines,,s-1\nGrace Hopper,,viewer,s-2\n"


def send(
    browser: Browser, csv: str = "", file: bytes | None = None, act: str = "import"
) -> httpx.Response:
    """Sends the form of the page as a browser does."""
    data = {"form_token": browser.form_token(PATH), "csv": csv, "act": act}
    chosen = ("", b"") if file is None else ("roster.csv", file)
    return browser.http.post(PATH, data=data, files={"file": chosen})


def codes(page: str) -> list[str]:
    return re.findall(r"<code>(\S{10,})</code>", page.split('id="result"', 1)[-1])


def test_a_host_checks_and_imports_a_roster_and_sees_its_codes_once(fresh_world: World) -> None:
    host = fresh_world.client("host")
    with browse(fresh_world, "host") as browser:
        assert "Nobody is on the roster yet" in browser.get(PATH).text
        dry = send(browser, ROSTER, act="check")
        assert dry.status_code == 200
        assert "2 lines would change" in dry.text
        assert "Ada Lovelace,Engines" in dry.text, "the text stays for the import"
        assert host.get("/v1/leagues/private/roster")["items"] == []
        made = send(browser, ROSTER)
        first, second = codes(made.text)
        assert first != second
        listed = unescape(made.text.split("<pre", 1)[1].split("</pre>", 1)[0])
        assert f"Ada Lovelace,s-1,{first}" in listed
        again = send(browser, ROSTER)
        assert "Nothing changed" in again.text
        assert codes(again.text) == []
        assert "0 of 2 joined" in again.text
        people = browser.get("/leagues/private/people").text
        assert "0 of 2 people joined" in people
    assert [line["external_id"] for line in host.get("/v1/leagues/private/roster")["items"]] == [
        "s-1",
        "s-2",
    ]


def test_a_file_counts_instead_of_the_text(fresh_world: World) -> None:
    with browse(fresh_world, "host") as browser:
        done = send(browser, "nonsense", ROSTER.replace(",", ";").encode("utf-8-sig"))
        assert len(codes(done.text)) == 2
    assert len(fresh_world.client("host").get("/v1/leagues/private/roster")["items"]) == 2


def test_a_faulty_line_is_named_and_nothing_is_imported(fresh_world: World) -> None:
    faulty = ROSTER + "Alan,Machines,chief,s-3\nTuring,,,s-1\n"
    with browse(fresh_world, "host") as browser:
        refused = send(browser, file=faulty.encode())
        assert refused.status_code == 422
        told = unescape(refused.text)
        assert "Line 4, role: 'chief' is no role; write competitor or viewer" in told
        assert "Line 5, external_id: an earlier line has the same id" in told
        assert "Alan,Machines,chief,s-3" in told, "the file's text can be corrected on the page"
        for text, word in (
            ("", "Paste the roster, or choose a file."),
            ("x" * 250_001, "at most 250,000 characters"),
            ("x" * 200_000, "not valid CSV"),
            ("Ada,Engines,,s-1", "the header must be"),
            ("name,team,role,external_id\n\0,,,", "Line 2"),
        ):
            answer = send(browser, text)
            assert (answer.status_code, word in unescape(answer.text)) == (422, True), word
    assert fresh_world.client("host").get("/v1/leagues/private/roster")["items"] == []


@pytest.mark.parametrize("is_file", [True, False])
def test_a_roster_above_the_size_limit_is_refused_on_its_page(world: World, is_file: bool) -> None:
    large = ROSTER + "Ada Lovelace,Engines,,\n" * 20_000
    with browse(world, "host") as browser:
        refused = send(browser, file=large.encode()) if is_file else send(browser, large)
    assert refused.status_code == 422
    field = refused.text.split('id="csv"')[1].split('id="file"')[0]
    assert "Send at most 256 kB at a time: import the roster in parts." in field
    assert world.client("host").get("/v1/leagues/private/roster")["items"] == []


@pytest.mark.parametrize("path", ["/leagues/private/edit", "/new-league", "/seasons/no-such/end"])
def test_a_form_above_the_size_limit_is_answered_with_a_page(world: World, path: str) -> None:
    with browse(world, "host") as browser:
        refused = browser.http.post(path, data={"title": "x" * 300_000})
    assert (refused.status_code, refused.headers["content-type"][:9]) == (413, "text/html")
    assert "Send less: this address takes at most 256 kB." in refused.text
