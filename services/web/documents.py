"""The documentation as pages of the site, made from the Markdown files in ``docs/``.

Links between the files become links between the pages. A link to a file that is no page here, such
as a source file, becomes plain text.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Final

from fastapi import APIRouter, Request, Response
from fastapi.responses import FileResponse, RedirectResponse
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from games import GAMES
from ladder.database.db import Connection
from ladder.errors import NotFound
from ladder.leagues import leagues
from ladder.leagues.records import League
from ladder.people.records import Viewer
from ladder.reports.site_search import Found, FoundKind
from services.http.app_state import Db
from services.web.page_rendering import HEADERS, PageRoute, render
from services.web.session import Visitor
from services.web.sharing import site_address

router = APIRouter(route_class=PageRoute, include_in_schema=False)
FOLDER: Final = Path(__file__).parents[2] / "docs"
SECTIONS: Final = (
    ("Begin", ("quick-start.md", "quick-start-for-hosts.md")),
    (
        "Guides",
        (
            "how-to/write-an-agent.md",
            "how-to/run-a-remote-agent.md",
            "how-to/is-my-new-version-better.md",
            "how-to/learn-from-episodes.md",
            "how-to/receive-notices.md",
            "how-to/host-a-league.md",
            "how-to/use-it-in-a-course.md",
            "how-to/audit-a-result.md",
            "how-to/hold-a-tournament.md",
            "how-to/bring-a-game.md",
            "how-to/run-more-machines.md",
        ),
    ),
    (
        "Reference",
        (
            "reference/command-line.md",
            "reference/http-api.md",
            "reference/reference-agents.md",
            "reference/settings.md",
            "glossary.md",
        ),
    ),
)
GAMES_FOLDER: Final = "games/"
EXAMPLE_ADDRESS: Final = "https://ladder.example.org"
"""The address of a site in the files. The pages show the site's own address in its place."""
LEAGUES_SHOWN: Final = 100
EXTERNAL: Final = re.compile(r"^(https?:|mailto:|#)")
NOT_IN_ANCHORS: Final = re.compile(r"[^\w\- ]")


@dataclass(frozen=True, slots=True)
class Document:
    """A page of the documentation."""

    path: str
    """Path below ``docs/``."""
    title: str
    html: Markup
    headings: tuple[tuple[str, str], ...]
    """Anchor and text of each heading of the second level."""
    lead: str
    """The first paragraph without its markup."""


@router.get("/docs")
def show_documentation(request: Request, who: Visitor) -> Response:
    """Shows all pages of the documentation."""
    sections = [(title, [read_document(path) for path in paths]) for title, paths in SECTIONS]
    return render(
        request,
        "documentation.html",
        sections=sections,
        games=[read_document(path) for path in game_paths()],
        addresses=address_of,
    )


@router.get("/docs/{name:path}")
def show_document(request: Request, name: str, who: Visitor) -> Response:
    """Shows one page. Addresses end as the files do, without ``.md``."""
    path = f"{name}.md"
    if path in game_paths():
        return RedirectResponse(address_of(path), status_code=308, headers=dict(HEADERS))
    if path not in page_paths():
        raise NotFound.of("page")
    return render(
        request,
        "document.html",
        document=document_of_site(request, path),
        sections=[(title, [read_document(one) for one in paths]) for title, paths in SECTIONS],
        addresses=address_of,
    )


@router.get("/games")
def show_games(request: Request, who: Visitor) -> Response:
    """Shows the games that have a page."""
    return render(
        request,
        "games.html",
        games=[(GAMES[name_of(path)], read_document(path)) for path in game_paths()],
        others=[game for name, game in GAMES.items() if f"{GAMES_FOLDER}{name}.md" not in known()],
    )


@router.get("/rules")
def lead_to_games(who: Visitor) -> Response:
    return RedirectResponse("/games", status_code=308, headers=dict(HEADERS))


@router.get("/games/{name}")
@router.get("/games/{name}/rules")
def show_game(request: Request, name: str, conn: Db, who: Visitor) -> Response:
    """Shows rules, observation, answer and complete agents of a game, and its leagues."""
    path = f"{GAMES_FOLDER}{name.replace('-', '_')}.md"
    if path not in game_paths():
        raise NotFound.of("game")
    return render(
        request,
        "game.html",
        game=GAMES[name_of(path)],
        document=document_of_site(request, path),
        leagues=leagues_of_game(conn, who, name_of(path)),
    )


@router.get("/pictures/{name}.svg")
def send_picture(name: str) -> Response:
    """Sends the picture of a game."""
    path = f"{GAMES_FOLDER}{name}.md"
    if path not in game_paths():
        raise NotFound.of("picture")
    return FileResponse(FOLDER / GAMES_FOLDER / f"{name}.svg", media_type="image/svg+xml")


def leagues_of_game(conn: Connection, who: Viewer, name: str) -> list[League]:
    """The leagues of this game that the visitor may see."""
    rows = leagues.list_leagues(conn, who, None, LEAGUES_SHOWN)
    return [league for league in rows if league.game == name]


def search_documents(text: str, limit: int = 10) -> list[Found]:
    """Pages with the text; pages whose title has it come first."""
    wanted = text.lower()
    found = []
    for path in (*page_paths(), *game_paths()):
        document = read_document(path)
        if wanted in document.title.lower() or wanted in " ".join(source_of(path).lower().split()):
            found.append((wanted not in document.title.lower(), document))
    found.sort(key=lambda pair: pair[0])
    return [
        Found(FoundKind.PAGE, one.path, address_of(one.path), one.title, "")
        for _, one in found[:limit]
    ]


@cache
def known() -> frozenset[str]:
    """All files of the documentation."""
    return frozenset(str(path.relative_to(FOLDER)) for path in FOLDER.rglob("*.md"))


@cache
def page_paths() -> tuple[str, ...]:
    """The files that are pages, in their order."""
    return tuple(path for _, paths in SECTIONS for path in paths if path in known())


@cache
def game_paths() -> tuple[str, ...]:
    """The files of the games that this site has."""
    paths = (f"{GAMES_FOLDER}{name}.md" for name in GAMES)
    return tuple(path for path in paths if path in known())


def rules_address(game: str) -> str | None:
    """The address of the rules of a game. None if this site has no page of it."""
    path = f"{GAMES_FOLDER}{game}.md"
    return address_of(path) if path in game_paths() else None


def name_of(path: str) -> str:
    """The game of a page."""
    return path.removeprefix(GAMES_FOLDER).removesuffix(".md")


def address_of(path: str) -> str:
    """The address of the page of a file."""
    if path in game_paths():
        return f"/games/{name_of(path)}"
    return f"/docs/{path.removesuffix('.md')}"


def source_of(path: str) -> str:
    """The text of a page's file."""
    return (FOLDER / path).read_text()


@cache
def read_document(path: str) -> Document:
    """The page of a file. Read once in a process."""
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = parser.parse(source_of(path))
    title, headings, text = "", [], ""
    captions: list[str] = []
    kept: list[Token] = []
    for place, token in enumerate(tokens):
        if token.type == "heading_open":
            text = plain_text(tokens[place + 1])
            if token.tag == "h1":
                title = text
            else:
                token.attrSet("id", anchor_of(text))
                if token.tag == "h2":
                    headings.append((anchor_of(text), text))
        if token.type == "inline":
            rewrite_links(token, path)
        if token.type == "table_open":
            captions.append(text)
        if token.type == "th_open":
            token.attrSet("scope", "col")
        kept.append(token)
    first = next(at for at, token in enumerate(kept) if token.type == "heading_close") + 1
    html = str(parser.renderer.render(kept[first:], parser.options, {}))
    lead = next((plain_text(token) for token in kept[first:] if token.type == "inline"), "")
    for caption in captions:
        named = Markup('<div class="scroll"><table ><caption class="visually-hidden">{}</caption>')
        html = html.replace("<table>", named.format(caption), 1)
    html = html.replace("</table>", "</table></div>")
    code = r'<div class="copy"><pre tabindex="0">\1</pre></div>'  # it may scroll
    html = re.sub(r"<pre>(.*?)</pre>", code, html, flags=re.S)
    return Document(path, title, Markup(html), tuple(headings), lead)  # noqa: S704


def document_of_site(request: Request, path: str) -> Document:
    """The page of a file, with the address of this site."""
    document = read_document(path)
    html = document.html.replace(EXAMPLE_ADDRESS, Markup.escape(site_address(request)))
    return replace(document, html=html)


@cache
def first_agent(path: str) -> str:
    """The source of the first complete agent on a game's page."""
    found = re.search(r"^```python\n(.*?)^```$", source_of(path), re.MULTILINE | re.DOTALL)
    return found[1] if found else ""


def rewrite_links(token: Token, path: str) -> None:
    """Lets links lead to pages of this site, and removes those that cannot."""
    children: list[Token] = []
    is_removed = False
    for child in token.children or ():
        if child.type == "link_open":
            address = page_address(str(child.attrGet("href") or ""), path)
            is_removed = address is None
            if address is not None:
                child.attrSet("href", address)
        elif child.type == "image":
            name = posixpath.basename(str(child.attrGet("src") or "")).removesuffix(".svg")
            child.attrSet("src", f"/pictures/{name}.svg")
            child.attrSet("class", "board-picture")
        if not (is_removed and child.type in ("link_open", "link_close")):
            children.append(child)
        if child.type == "link_close":
            is_removed = False
    token.children = children


def page_address(href: str, path: str) -> str | None:
    """The address on this site for a link of the file; None if it has none here."""
    if EXTERNAL.match(href):
        return href
    target, _, anchor = href.partition("#")
    file = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    if file not in page_paths() and file not in game_paths():
        return "/docs" if file == "README.md" else None
    return address_of(file) + (f"#{anchor}" if anchor else "")


def plain_text(token: Token) -> str:
    """The words of an inline token."""
    breaks = ("softbreak", "hardbreak")
    return "".join(" " if child.type in breaks else child.content for child in token.children or ())


def anchor_of(text: str) -> str:
    """The anchor of a heading, as GitHub forms it."""
    return NOT_IN_ANCHORS.sub("", text.lower()).replace(" ", "-")
