"""A served, seeded contest and a real browser for the tests of the pages."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page

from ladder.database import db
from ladder.database.blobs import ObjectStoreBlobs, open_blobs
from services.api_client import tls_context
from services.run.process_supervisor import listen_on_port
from services.web.session import SESSION
from tests.servers import cloned
from tests.web.seeding import Contest, seed

RATED_MATCHES = 24
START_SECONDS = 180


@dataclass
class Site:
    """A running server and its contest."""

    address: str
    database_url: str
    blobs: ObjectStoreBlobs
    contest: Contest
    sessions: dict[str, httpx.Cookies] = field(default_factory=dict)
    """The cookies of the readers by their tokens; each signs in once."""

    def get(self, path: str, token: str | None = None) -> httpx.Response:
        """A page as a browser without script gets it, signed in if a token is given."""
        with httpx.Client(
            base_url=self.address, headers={"Accept": "text/html"}, verify=tls_context(self.address)
        ) as client:
            if token and token not in self.sessions:
                self.sessions[token] = session_of(self.address, token)
            if token:
                client.cookies = self.sessions[token]
            return client.get(path)


@dataclass
class Tab:
    """A page of the browser; the end of the test checks its complaints."""

    page: Page
    address: str
    complaints: list[str] = field(default_factory=list)

    def hear(self, said: ConsoleMessage) -> None:
        if said.type in ("error", "warning"):
            self.complaints.append(said.text)

    def open(self, path: str) -> Page:
        self.page.goto(self.address + path)
        return self.page

    def sign_in(self, token: str) -> None:
        """Sign in without the form, which takes three pages. The page stays where it is."""
        key = session_of(self.address, token)[SESSION]
        self.page.context.add_cookies([{"name": SESSION, "value": key, "url": self.address}])

    def type_token(self, token: str) -> None:
        """Sign in through the form."""
        self.open("/sign-in")
        self.page.get_by_label("Token", exact=True).fill(token)
        self.page.get_by_role("main").get_by_role("button", name="Use the token").click()
        self.page.wait_for_url("**/me")


def press(page: Page, name: str) -> None:
    """Press a form's button from the keyboard and wait for the next page."""
    with page.expect_navigation():
        page.get_by_role("main").get_by_role("button", name=name).press("Enter")


def session_of(address: str, token: str) -> httpx.Cookies:
    """The cookies of a new session of this token's owner."""
    with httpx.Client(base_url=address, verify=tls_context(address)) as client:
        sign_in(client, token)
        return httpx.Cookies({SESSION: client.cookies[SESSION]})


def sign_in(client: httpx.Client, token: str) -> httpx.Response:
    """Sign a client in through the form, as a browser without script does."""
    form = client.get("/sign-in").text
    proof = form.split('name="form_token" value="', 1)[1].split('"', 1)[0]
    return client.post("/sign-in", data={"token": token, "form_token": proof, "next": "/me"})


@pytest.fixture(scope="session")
def seeded_database(
    postgres_url: str, migrated_template: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, str, Contest]]:
    """Addresses of a database and a blob folder with a contest."""
    folder = tmp_path_factory.mktemp("blobs")
    with cloned(postgres_url, migrated_template) as url:
        with db.connect(url) as conn:
            contest = seed(conn, open_blobs(folder.as_uri()), rated=RATED_MATCHES)
        yield url, folder.as_uri(), contest


@pytest.fixture(scope="session")
def site(
    seeded_database: tuple[str, str, Contest], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    """The real server over the seeded contest."""
    with served(seeded_database, tmp_path_factory.mktemp("server") / "log") as made:
        yield made


@contextmanager
def served(
    database: tuple[str, str, Contest], log: Path, host: str = "127.0.0.1", **environment: str
) -> Iterator[Site]:
    """A real server, for browsers that use this name of the machine."""
    database_url, blobs_url, contest = database
    listener = listen_on_port(0, print)  # so that nobody else takes the port
    address = f"http://{host}:{listener.getsockname()[1]}"
    with log.open("wb") as output, listener:
        server = subprocess.Popen(
            [sys.executable, "-m", "uvicorn", "services.app:create_app", "--factory",
             "--fd", str(listener.fileno()), "--log-level", "warning",
             "--timeout-graceful-shutdown", "2"],
            env={
                **os.environ,
                "PECK_DATABASE_URL": database_url,
                "PECK_BLOBS_URL": blobs_url,
                "PECK_SESSION_SECRET": "of the tests",
                "PECK_SIGN_UP": "open",
                "PECK_BASE_URL": address,
                **environment,
            },
            stdout=output,
            stderr=subprocess.STDOUT,
            pass_fds=(listener.fileno(),),
        )  # fmt: skip
        listener.close()
        try:
            wait_for(address, server, log)
            yield Site(address, database_url, open_blobs(blobs_url), contest)
        finally:
            server.terminate()
            server.wait(120)


def wait_for(address: str, server: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until the server answers."""
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and server.poll() is None:
        try:
            if httpx.get(f"{address}/health/ready").status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.1)
    pytest.fail(f"the server did not start: {log.read_text()[-2000:]}", pytrace=False)


@pytest.fixture
def tab(site: Site, browser: Browser) -> Iterator[Callable[..., Tab]]:
    """Opens tabs: ``tab(width=360, scheme="dark", script=False)``. None may log an error."""
    opened: list[tuple[BrowserContext, Tab]] = []

    def make(width: int = 1200, scheme: str = "light", *, script: bool = True) -> Tab:
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme="dark" if scheme == "dark" else "light",
            reduced_motion="reduce",
            java_script_enabled=script,
        )
        made = Tab(context.new_page(), site.address)
        made.page.on("console", made.hear)
        made.page.on("pageerror", lambda error: made.complaints.append(str(error)))
        made.page.on("dialog", lambda dialog: made.complaints.append(f"dialog: {dialog.message}"))
        opened.append((context, made))
        return made

    yield make
    complaints = [text for _, one in opened for text in one.complaints]
    for context, _ in opened:
        context.close()
    assert complaints == []
