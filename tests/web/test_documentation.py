"""The documentation as pages: all pages exist, their links lead somewhere, they come compressed."""

from __future__ import annotations

import re

import httpx

from services.web import documents
from tests.web.conftest import Site


def hrefs(text: str) -> set[str]:
    return {link for link in re.findall(r'href="([^"]+)"', text) if link.startswith(("/", "#"))}


def test_every_page_of_the_documentation_is_shown_and_linked(site: Site) -> None:
    index = hrefs(site.get("/docs").text)
    paths = [*documents.page_paths(), *documents.game_paths()]
    assert len(paths) == len({path for _, one in documents.SECTIONS for path in one}) + 4
    for path in paths:
        address = documents.address_of(path)
        assert address in index
        page = site.get(address)
        assert page.status_code == 200, address
        assert f"<h1>{documents.read_document(path).title}</h1>" in page.text
        for link in hrefs(page.text):
            target, _, anchor = link.partition("#")
            if target and not target.startswith(("/docs", "/games")):
                continue
            found = site.get(target).text if target else page.text
            assert not anchor or f'id="{anchor}"' in found, f"{link} on {address}"
    assert site.get("/docs/how-to/nothing").status_code == 404
    assert site.get("/docs/../SECURITY").status_code == 404


def test_every_file_for_users_is_a_page() -> None:
    for_developers = ("README.md", "performance.md", "architecture/", "security/")
    for_users = {path for path in documents.known() if not path.startswith(for_developers)}
    assert for_users == {*documents.page_paths(), *documents.game_paths()}


def test_rules_have_their_usual_addresses(site: Site) -> None:
    assert site.get("/rules").headers["location"] == "/games"
    assert "Observation" in site.get("/games/hungry-geese/rules").text
    assert site.get("/games/chess").status_code == 404
    games = site.get("/games").text
    for name in ("hungry_geese", "battlesnake", "golad", "snake"):
        assert f'src="/pictures/{name}.svg"' in games
        assert site.get(f"/pictures/{name}.svg").headers["content-type"] == "image/svg+xml"


def test_search_finds_words_of_the_documentation(site: Site) -> None:
    page = site.get("/search?q=use it in a").text
    assert 'href="/docs/how-to/use-it-in-a-course"' in page


def test_pages_are_compressed_and_answers_of_the_api_are_not(site: Site) -> None:
    accepted = {"Accept-Encoding": "gzip", "Accept": "text/html"}
    for path in ("/docs/api/leagues", "/static/site.css"):
        answer = httpx.get(f"{site.address}{path}", headers=accepted)
        assert answer.headers["content-encoding"] == "gzip"
        assert int(answer.headers["content-length"]) < len(answer.content) / 3
        assert "Accept-Encoding" in answer.headers["vary"]
    plain = httpx.get(f"{site.address}/v1/leagues", headers=accepted)
    assert "content-encoding" not in plain.headers
