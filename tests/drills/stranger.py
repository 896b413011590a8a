"""A stranger opens the site in a browser and finds the place of an agent among 100: with times.

scripts/drill stranger [--agents 100] [--games 40] [--minutes 10] [--answer-minutes 60]

A real instance runs on this machine, with one league of short Hungry Geese games. Its agents make
mistakes, each more often than the one before, so their true order is known. They have played rated
games before the stranger comes.

The stranger opens the home page, makes an account and uploads a
twin of one of them. The drill prints the times from the upload, and the rank minute by minute. Then
the stranger gets `peck` from the site, sends a better version with it, and asks on the site whether
the new version is better. The times mean something on a quiet machine. The drill exits with 1 if an
aim is missed.
"""

from __future__ import annotations

import argparse
import functools
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from playwright.sync_api import Page, expect

from benchmarks.report_tables import aligned, describe_machine
from games import GAMES
from ladder.database import db, migrate
from ladder.database.blobs import Blobs, open_blobs
from ladder.database.db import Connection
from ladder.entries import agents, entries
from ladder.entries.anchors import set_up_league
from ladder.entries.records import Entry
from ladder.enums import MatchKind
from ladder.ids import MatchId
from ladder.leagues.records import Season
from ladder.leagues.settings import NewLeague, NewSeason
from ladder.matches import matches
from ladder.matches.records import LineupSeat
from ladder.people import users
from ladder.people.records import Viewer
from ladder.ratings import live_ratings
from ladder.ratings.fitting import OfficialFitter
from services.run import embedded_servers
from tests.browsers import chromium
from tests.stack import Stack, running
from tests.web.games_played import AGENTS, Agent, play_queued

PATIENCE_MS: Final = 120_000
AIMS: Final = {"validated": 3.0, "first rated match": 10.0}
NEAR: Final = 0.05
"""Part of the field by which a rank may be off."""
TWIN: Final = 0.3
"""The part of the field that is better than the stranger's agent."""
STEPS: Final = 60
MOST_MISTAKES: Final = 0.5
LOOK_SECONDS: Final = 5
SOURCE: Final = '''

import random

MISTAKES = {mistakes:.4f}
careful = agent


def play(observation, configuration):
    """The careful move, or sometimes any move."""
    global last_move
    chosen = careful(observation, configuration)
    if random.random() < MISTAKES:
        chosen = last_move = random.choice(list(STEPS))
    return chosen
'''


@dataclass
class Field:
    """The agents that play before the stranger comes, best first."""

    count: int
    games: int
    """Rated games of each agent."""
    season: Season | None = None

    def mistakes(self, place: float) -> float:
        """How often the agent at this place makes a mistake; 0 is the best place."""
        return float(MOST_MISTAKES * (0.02 + place / self.count) ** 1.5)

    def source(self, place: float) -> str:
        """The ``main.py`` of the agent at this place."""
        careful = (AGENTS / "greedy" / "main.py").read_text()
        return careful + SOURCE.format(mistakes=self.mistakes(place))


def prepare(field: Field, state: Path) -> None:
    """Fills the database of an instance that has not started yet."""
    folder = embedded_servers.state_folder(Path.cwd(), state)
    embedded_servers.write_format_mark(folder)
    server = embedded_servers.start_postgres(folder)
    try:
        migrate.migrate(server.url, after=True)
        (folder / "blobs").mkdir(mode=0o700)
        with db.connect(server.url) as conn:
            seed(conn, open_blobs((folder / "blobs").as_uri()), field)
    finally:
        server.stop()


def seed(conn: Connection, blobs: Blobs, field: Field) -> None:
    """A league whose agents have passed validation and played rated games."""
    host = users.create_user(conn, "Harriet Host")
    asked = NewLeague(
        slug="geese",
        title="Geese",
        game="hungry_geese",
        season=NewSeason(seats=4, configuration={"episodeSteps": STEPS}),
        fill=False,
    )
    opened = set_up_league(conn, blobs, asked, GAMES["hungry_geese"], Viewer(host.id, host.name))
    assert opened.season is not None
    field.season = opened.season
    players = []
    for place in range(field.count):
        source = field.source(place)
        players.append((enter(conn, blobs, field.season, place, source), source))
    draw = random.Random(7)
    lineups = []
    for _ in range(field.games):
        order = draw.sample(players, len(players))
        lineups += [order[at : at + 4] for at in range(0, len(order) - 3, 4)]
    for number, lineup in enumerate(lineups):
        play_rated(conn, blobs, field.season, lineup)
        print(f"\r{number + 1} of {len(lineups)} games before the start", end="", flush=True)
    while live_ratings.rate_season(conn, field.season.id):
        conn.commit()
    OfficialFitter().refit(conn, field.season.id)
    conn.execute("delete from workers")
    conn.commit()
    print()


def enter(conn: Connection, blobs: Blobs, season: Season, place: int, source: str) -> Entry:
    """An agent of a new team, with its entry after validation."""
    team = users.create_team(conn, f"Team {place:03d}", f"team-{place:03d}", None)
    agent = agents.create_agent(conn, team.id, f"Goose {place:03d}", f"goose-{place:03d}")
    stored = blobs.put_bytes(source.encode())
    submission, _ = agents.add_submission(
        conn, agent.id, stored.digest, stored.size, "main.py", "", None
    )
    entry = entries.enter_season(conn, season.id, submission.id)[0]
    conn.commit()
    assert entry.validation_match_id is not None
    play(conn, blobs, entry.validation_match_id, [source] * season.seats)
    return entries.get_entry(conn, entry.id)


def play_rated(
    conn: Connection, blobs: Blobs, season: Season, lineup: list[tuple[Entry, str]]
) -> None:
    seats = [LineupSeat(one.id, one.submission_id, one.agent_id, one.team_id) for one, _ in lineup]
    made = matches.create_match(conn, season=season, kind=MatchKind.RATED, lineup=seats)
    conn.commit()
    play(conn, blobs, made, [source for _, source in lineup])


def play(conn: Connection, blobs: Blobs, match_id: MatchId, sources: list[str]) -> None:
    """Plays a match in this process, because only its result matters."""
    play_queued(conn, blobs, match_id, [function_of(source) for source in sources])


def function_of(source: str) -> Agent:
    """The function of a ``main.py``, with variables of its own."""
    space: dict[str, Any] = {"__name__": "agent"}
    exec(compiled(source), space)
    found: Agent = space["play"]
    return found


@functools.cache
def compiled(source: str) -> Any:
    return compile(source, "main.py", "exec")


def send_agent(page: Page, address: str, source: str) -> Iterator[tuple[str, float]]:
    """Walks from the home page to the first rated match: steps with their seconds from upload."""
    page.set_default_timeout(PATIENCE_MS)
    opened = time.monotonic()
    page.goto(address)
    page.get_by_role("link", name="Send your agent").click()
    page.get_by_label("Name").fill("A stranger")
    page.get_by_label("Password", exact=True).fill("three geese on a torus")
    page.get_by_role("main").get_by_role("button", name="Sign up").click()
    page.wait_for_url("**/upload*")
    page.get_by_label("Name of the agent").fill("Stranger")
    page.get_by_label("File").set_input_files(
        {"name": "main.py", "mimeType": "text/x-python", "buffer": source.encode()}
    )
    yield "from the home page to the upload", time.monotonic() - opened
    page.get_by_role("main").get_by_role("button", name="Upload").click()
    began = time.monotonic()
    page.wait_for_url("**/agents/*")
    expect(page.locator("#submissions")).to_contain_text("active", timeout=PATIENCE_MS)
    yield "validated", time.monotonic() - began
    games = page.locator(".facts dt", has_text="Games").locator("xpath=..")
    while games.inner_text().endswith("0"):
        page.wait_for_timeout(250)
        page.reload()
    yield "first rated match", time.monotonic() - began


def get_client(page: Page, league: str, folder: Path, venv: Path | None = None) -> dict[str, str]:
    """Runs the commands of the quick start in a folder, and confirms the login in the browser.

    Begins on the page of the league. Returns the environment of the shell, whose home is the
    folder. With ``venv`` the first start of `peck` uses this environment and installs nothing.
    """
    page.get_by_role("link", name=league, exact=True).first.click()
    page.get_by_role("link", name="Quick start").click()
    get, enter, log_in = (
        page.locator("pre", has_text="peck.tar.gz").inner_text().strip().splitlines()
    )
    environment = {
        "HOME": str(folder),
        "PATH": os.environ["PATH"],
        "BROWSER": "true",
        "PYTHONUNBUFFERED": "1",  # the login prints its link before it waits
    }
    link = f"\nln -s {venv} .venv" if venv else ""
    command = ["sh", "-euc", f"{get}\n{enter}{link}\n{log_in}"]
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True
    ) as shell:
        assert shell.stdout is not None
        asked = next(line for line in shell.stdout if line.startswith("Open "))
        page.goto(asked.removeprefix("Open ").strip())
        for button in ("Continue", "Confirm"):
            page.get_by_role("main").get_by_role("button", name=button).click()
        expect(page.get_by_role("status")).to_contain_text("is signed in")
        assert "Logged in" in shell.stdout.read()
    return environment


def submit(environment: dict[str, str], source: str, agent: str, league: str) -> None:
    """Sends an agent with the downloaded `peck`, and waits for its validation."""
    folder = Path(environment["HOME"]) / "pecking-order"
    (folder / "main.py").write_text(source)
    command = ["./peck", "submit", "main.py", "--agent", agent, "--league", league, "--wait"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "active" in done.stdout


def ask_better(page: Page, address: str, league: str, opponent: str, minutes: float) -> str:
    """Asks on the site whether the newest version is better than the one before; the answer."""
    page.goto(address)
    page.get_by_role("link", name=league, exact=True).first.click()
    page.get_by_role("link", name="Is my new version better?").click()
    if opponent:
        page.get_by_role("checkbox", name=opponent).check()
    page.get_by_role("main").get_by_role("button", name="Compare").click()
    page.wait_for_url("**/comparisons/*")
    answer = page.locator(".answer")
    expect(answer).to_have_text(re.compile("^(Yes:|No:|These)"), timeout=60_000 * minutes)
    return answer.inner_text()


def follow_rank(stack: Stack, field: Field, seconds: float) -> Iterator[tuple[float, int, int]]:
    """Seconds since the call, rank and games of the stranger's agent, until the time is over."""
    assert field.season is not None
    ladder = stack.client(stack.admin_token)
    began = time.monotonic()
    while (passed := time.monotonic() - began) < seconds:
        for row in ladder.list_items(f"/v1/seasons/{field.season.id}/leaderboard"):
            if row["agent_name"] == "Stranger" and row["rank"] is not None:
                yield passed, row["rank"], row["games"]
        time.sleep(LOOK_SECONDS)


@contextmanager
def instance(field: Field) -> Iterator[Stack]:
    with running(prepare=functools.partial(prepare, field)) as stack:
        yield stack


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--agents", type=int, default=100)
    parser.add_argument("--games", type=int, default=40)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--answer-minutes", type=float, default=60)
    options = parser.parse_args()
    print(describe_machine())
    field = Field(options.agents, options.games)
    place = round(TWIN * field.count)
    with instance(field) as stack, chromium() as browser:
        # Between two agents of the field: better than this share of them, in truth.
        source, page = field.source(place - 0.5), browser.new_page()
        took = dict(send_agent(page, stack.address, source))
        rows = [["seconds from upload to", "took", "aim"]]
        rows += [[name, f"{one:.1f}", f"{AIMS.get(name, '')}"] for name, one in took.items()]
        print(aligned(rows))
        seen = list(follow_rank(stack, field, 60 * options.minutes))
        page.goto(stack.address)
        with TemporaryDirectory() as folder:
            began = time.monotonic()
            environment = get_client(page, "Geese", Path(folder))
            print(f"peck installed and signed in after {time.monotonic() - began:.0f} s")
            submit(environment, field.source(0), "stranger", "geese")
        began = time.monotonic()
        answer = ask_better(page, stack.address, "Geese", "", options.answer_minutes)
        print(f"{answer} After {(time.monotonic() - began) / 60:.1f} minutes")
    final, most = place + 1, NEAR * field.count
    rows = [["minute", "rank", "true rank", "games"]]
    shown = -1
    for seconds, rank, games in [*seen[:1], *seen]:
        if int(seconds / 60) > shown:
            shown = int(seconds / 60)
            rows.append([f"{seconds / 60:.1f}", str(rank), str(final), str(games)])
    print(aligned(rows))
    wrong = [(seconds, games) for seconds, rank, games in seen if abs(rank - final) > most]
    settled = not seen or wrong[-1:] == [(seen[-1][0], seen[-1][2])]
    if settled:
        print(f"not within {most:.0f} of rank {final} at the end")
    else:
        after, games = wrong[-1] if wrong else (0.0, 0)
        print(f"within {most:.0f} of rank {final} for good after {after:.0f} s and {games} games")
    late = [name for name, aim in AIMS.items() if took[name] > aim]
    return int(settled or bool(late) or not answer.startswith("Yes"))


if __name__ == "__main__":
    sys.exit(main())
