"""Three real tournaments on this machine, with their times: Swiss, double elimination, heats.

    scripts/drill events [--slots 2] [--only swiss] [--pictures FOLDER]

A real instance runs on this machine: site, Postgres, Redis, scheduler, worker, boxes. Reference
agents of different people enter by the API: 12 Battlesnake agents a Swiss of five rounds, 8 GOLAD
agents a double elimination in best of 5 mirrored pairs, and 16 Hungry Geese agents heats that are
cut to a final of four. The tournaments run one after another. With ``--pictures`` it takes a
picture of each page, for a desktop and for a phone.

The drill exits with 1 if a tournament does not reach its champion, or if a game counts twice.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser

from benchmarks.report_tables import aligned, describe_machine
from ladder.entries.reference_agents import read_bundle, title_of
from services.api_client import Client, Json
from tests.browsers import chromium
from tests.stack import Stack, running

LONGEST_SECONDS = 3600.0
VALIDATION_SECONDS = 300.0
SIZES = {"desktop": (1280, 800), "phone": (390, 844)}


@dataclass(frozen=True)
class Event:
    """A tournament of reference agents, which enter in turn until all places are taken."""

    name: str
    game: str
    seats: int
    entrants: int
    agents: tuple[str, ...]
    plan: dict[str, Any]


EVENTS = (
    Event(
        *("swiss", "battlesnake", 2, 12, ("safe-step", "grazer", "painter", "searcher")),
        {"stages": [{"format": "swiss", "rounds": 5, "series": {"pairs": 1}}]},
    ),
    Event(
        *("double elimination", "golad", 2, 8),
        ("random", "pass", "kill", "greedy-kills", "greedy", "search"),
        {"stages": [{"format": "double_elimination", "reset": False, "series": {"pairs": 5}}]},
    ),
    Event(
        *("heats", "hungry_geese", 4, 16),
        ("greedy", "survivor", "random-legal", "numpy-heuristic", "searcher", "convolutional"),
        {
            "stages": [
                {"format": "heats", "seats": 4, "rounds": 3, "advance": 4, "heat": {"games": 2}},
                {"format": "heats", "seats": 4, "rounds": 1, "heat": {"games": 4}},
            ]
        },
    ),
)


@dataclass
class Outcome:
    """A tournament that is over, or took too long."""

    event: Event
    id: str
    seconds: float
    found: Json
    games: Counter[str]
    """Matches by what they mean for the course."""
    rounds: int
    pairings: int
    faults: list[str]

    def cells(self) -> list[str]:
        games = ", ".join(f"{count} {what}" for what, count in sorted(self.games.items()))
        return [
            f"{self.event.name}, {self.event.entrants} {self.event.game}",
            str(self.rounds),
            str(self.pairings),
            games,
            f"{self.seconds:.0f}",
            self.found["champion_name"] or "none",
        ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the drill; returns the exit status."""
    parser = argparse.ArgumentParser(prog="scripts/drill events", description=__doc__)
    parser.add_argument("--slots", type=int, default=2, help="matches played at a time")
    parser.add_argument("--only", help="one event, by a part of its name")
    parser.add_argument("--pictures", type=Path, help="folder for pictures of the pages")
    options = parser.parse_args(arguments)
    chosen = [one for one in EVENTS if options.only is None or options.only in one.name]
    outcomes = []
    with running(slots=options.slots) as stack:
        host = stack.client(stack.admin_token)
        for event in chosen:
            outcomes.append(hold(stack, host, event))
            print(f"{event.name}: {outcomes[-1].seconds:.0f} s", flush=True)
        if options.pictures:
            with chromium() as browser:
                take_pictures(browser, host, outcomes, options.pictures)
    print(f"{options.slots} slots, {describe_machine()}")
    head = ["tournament", "rounds", "pairings", "games", "seconds", "champion"]
    print(aligned([head, *(one.cells() for one in outcomes)]))
    faults = [fault for one in outcomes for fault in one.faults]
    print("\n".join(faults))
    return 1 if faults else 0


def hold(stack: Stack, host: Client, event: Event) -> Outcome:
    """Enters the agents, plays the tournament and reads it. The time counts from the start."""
    slug = event.game.replace("_", "-")
    league = host.post(
        "/v1/leagues",
        {"slug": slug, "title": f"Club of {title_of(event.game, slug)}", "game": event.game},
    )
    season = host.post(f"/v1/leagues/{league['id']}/seasons", {"seats": event.seats})
    host.patch(f"/v1/leagues/{slug}", {"state": "paused"})
    people = [enter_league(stack, host, event, season["id"], n) for n in range(event.entrants)]
    await_validations(host, season["id"])
    made = host.post(
        f"/v1/leagues/{slug}/tournaments", {"title": event.name.title(), "plan": event.plan}
    )
    for client, agent in people:
        client.post(f"/v1/tournaments/{made['id']}/entrants", {"agent": agent})
    host.post(f"/v1/tournaments/{made['id']}/acts", {"act": "lock"})
    began = time.monotonic()
    host.post(f"/v1/tournaments/{made['id']}/acts", {"act": "start"})
    found = host.get(f"/v1/tournaments/{made['id']}")
    while found["state"] != "finished" and time.monotonic() - began < LONGEST_SECONDS:
        time.sleep(0.5)
        found = host.get(f"/v1/tournaments/{made['id']}")
    return read_outcome(host, event, found, time.monotonic() - began)


def enter_league(
    stack: Stack, host: Client, event: Event, season: str, number: int
) -> tuple[Client, str]:
    """A new person with a reference agent in the season; returns their client and the agent."""
    name = event.agents[number % len(event.agents)]
    person = f"{title_of(event.game, event.game)} Player {number + 1}"
    user = host.post("/v1/users", {"name": person})
    host.post("/v1/teams", {"name": f"Team of {person}", "owner": user["id"]})
    token = host.post(
        f"/v1/users/{user['id']}/tokens", {"label": "drill", "scopes": ["read", "agents:write"]}
    )["token"]
    client = stack.client(token)
    agent = client.post(
        "/v1/agents", {"name": f"{title_of(event.game, name)} {number // len(event.agents) + 1}"}
    )
    filename, content = read_bundle(event.game, name)
    client.upload(
        f"/v1/agents/{agent['id']}/submissions", content, filename=filename, season=season
    )
    return client, agent["id"]


def await_validations(host: Client, season: str) -> None:
    """Waits until all agents may play. Raises TimeoutError."""
    until = time.monotonic() + VALIDATION_SECONDS
    while time.monotonic() < until:
        states = Counter(one["state"] for one in host.list_items("/v1/entries", season=season))
        if set(states) == {"active"}:
            return
        time.sleep(1)
    raise TimeoutError(f"the states of the entries are {states}")


def read_outcome(host: Client, event: Event, found: Json, seconds: float) -> Outcome:
    """Counts pairings and games, and lists what contradicts the rules."""
    pairings = [
        one
        for stage in range(1, len(event.plan["stages"]) + 1)
        for one in host.list_items(f"/v1/tournaments/{found['id']}/pairings", stage=stage)
    ]
    games = [(one["key"], game) for one in pairings for game in one["games"]]
    counted = Counter((key, game["game"]) for key, game in games if game["outcome"] == "counted")
    faults = [f"{event.name}: game {key} counts {n} times" for key, n in counted.items() if n > 1]
    if found["state"] != "finished" or not found["champion"]:
        faults.append(f"{event.name} is {found['state']}: {found['problem']}")
    rounds = {one["key"].rpartition(".")[0] for one in pairings}
    outcomes = Counter(str(game["outcome"]) for _, game in games)
    return Outcome(event, found["id"], seconds, found, outcomes, len(rounds), len(pairings), faults)


def take_pictures(
    browser: Browser, host: Client, outcomes: Sequence[Outcome], folder: Path
) -> None:
    """Pictures of each tournament's page, and of a game and a result in a show, for each size."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, (width, height) in SIZES.items():
        page = browser.new_page(viewport={"width": width, "height": height})
        for one in outcomes:
            start = folder / f"{one.event.name.replace(' ', '-')}-{name}"
            page.goto(f"{host.address}/tournaments/{one.id}")
            page.screenshot(path=f"{start}.png")
            page.screenshot(path=f"{start}-full.png", full_page=True)
            show = host.post(f"/v1/tournaments/{one.id}/shows", {})
            page.goto(f"{host.address}{urlsplit(show['address']).path}")
            page.keyboard.press("PageDown")
            page.locator("[data-player][data-ready=true]").wait_for()
            page.screenshot(path=f"{start}-show-game.png")
            page.keyboard.press("e")
            page.locator("#show[data-kind=result]").wait_for()
            page.screenshot(path=f"{start}-show-result.png")


if __name__ == "__main__":
    sys.exit(main())
