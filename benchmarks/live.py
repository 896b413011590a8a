"""Measures running matches: how late frames come, and what watchers cost.

    python -m benchmarks live [lateness] [watchers] [--matches 50] [--watchers 1000]
        [--seconds 12]

*Lateness*: real matches in real boxes on a small instance. Agents print when they answer, so the
delay of a frame is measured from the last answer of its step, a little before the verdict. A match
takes about 9 seconds, and two are played at a time: 50 matches take about 5 minutes, 4 take one.
*Watchers*: one API process, and matches of five steps a second (`benchmarks.live_watchers`).
"""

from __future__ import annotations

import argparse
import json
import threading
import time
from collections.abc import Callable, Iterator

import httpx

from benchmarks import live_watchers
from benchmarks.report_tables import aligned, describe_machine, quantile
from benchmarks.whole_way import LEAGUE, enter_agents
from services.api_client import Client, Json
from tests.stack import Stack, running

SLOW = b"""import time

def agent(observation, configuration):
    time.sleep(0.05)
    print(repr(time.time()))
    return "EAST"
"""
PARTS = ("lateness", "watchers")
SEATS = 4
LONGEST_SECONDS = 600.0
"""Longest wait for the next match that is watched to its end."""
PROGRESS_SECONDS = 10.0
HEAD = ("what", "matches", "frames", "median ms", "p95 ms", "worst ms", "within 1 s")


def main() -> None:
    """Print the tables of these parts; both without a name."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(PARTS)}; default: all")
    parser.add_argument("--matches", type=int, default=50, help="matches for the lateness")
    parser.add_argument("--watchers", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=12.0, help="of watching in each case")
    asked = parser.parse_args()
    parts = asked.parts or PARTS
    if unknown := set(parts) - set(PARTS):
        parser.error(f"there is no part {', '.join(unknown)}; there are: {', '.join(PARTS)}")
    print(describe_machine(), flush=True)
    if "lateness" in parts:
        print(f"\n{aligned([HEAD, all_lateness(asked.matches)])}", flush=True)
    if "watchers" in parts:
        cases = len(live_watchers.CASES)
        print(f"\nwatchers: {cases} cases of {asked.seconds:g} s", flush=True)
        rows = list(live_watchers.rows(asked.watchers, asked.seconds))
        print(f"\n{aligned([live_watchers.HEAD, *rows])}\n{live_watchers.AIMS}", flush=True)


def all_lateness(matches: int) -> tuple[str, ...]:
    """The row of the first table."""
    began = time.monotonic()

    def say(text: str) -> None:
        print(f"{time.monotonic() - began:6.1f} s  {text}", flush=True)

    with running() as stack:
        rules = {"episodeSteps": 41, "hunger_rate": 1000, "rows": 30}
        people, _ = enter_agents(stack, SEATS, SLOW, rules)
        say(f"{SEATS} agents validated")
        return lateness(stack, people, matches, say)


def lateness(
    stack: Stack, people: list[Client], wanted: int, say: Callable[[str], None]
) -> tuple[str, ...]:
    """Watch each rated match from when it is found until its end. Raises if no match ends."""
    watched: dict[str, Watched] = {}
    over, changed_at, told_at = 0, time.monotonic(), 0.0
    while over < wanted:
        for row in people[0].list_items("/v1/matches", most=10, season=LEAGUE, kind="rated"):
            if row["state"] == "running" and row["id"] not in watched and len(watched) < wanted:
                watched[row["id"]] = Watched(stack.address, row["id"])
        time.sleep(0.1)
        now, before = time.monotonic(), over
        over = sum(not one.is_alive() for one in watched.values())
        changed_at = now if over > before else changed_at
        if now >= told_at + PROGRESS_SECONDS or over == wanted:
            frames = sum(len(one.came) for one in watched.values())
            say(f"{over} of {wanted} matches watched to the end, {frames} frames came")
            told_at = now
        assert now < changed_at + LONGEST_SECONDS, f"no match ended within {LONGEST_SECONDS:.0f} s"
    if cut := [f"{match}: {one.failure}" for match, one in watched.items() if one.failure]:
        say(f"{len(cut)} streams broke off and do not count: {'; '.join(cut)}")
    delays = [late for match, one in watched.items() for late in one.delays(people, match)]
    shown = [1000 * late for late in delays]
    within = sum(late <= 1000 for late in shown) / max(1, len(shown))
    return (
        "frames on the reader after the step's last answer",
        str(sum(one.is_over for one in watched.values())),
        str(len(shown)),
        *(f"{quantile(shown, share):.0f}" for share in (0.5, 0.95, 1.0)),
        f"{within:.1%}",
    )


class Watched(threading.Thread):
    """Reads the stream of one match and notes when each frame came."""

    def __init__(self, address: str, match_id: str) -> None:
        super().__init__(daemon=True)
        self._address = f"{address}/v1/matches/{match_id}/live"
        self.opened_at = 0.0
        self.came: dict[int, float] = {}
        self.is_over = False
        self.failure = ""
        self.start()

    def run(self) -> None:
        try:
            self._read()
        except httpx.HTTPError as error:
            self.failure = repr(error)

    def _read(self) -> None:
        headers = {"Accept": "text/event-stream"}
        with httpx.stream("GET", self._address, headers=headers, timeout=60) as answer:
            answer.raise_for_status()
            self.opened_at = time.time()
            for line in answer.iter_lines():
                if line.startswith("data: "):
                    self._note(json.loads(line[6:]))
        self.is_over = True

    def _note(self, data: Json) -> None:
        now = time.time()
        for number in range(len(data.get("frames", ()))):
            self.came.setdefault(data["first"] + number, now)

    def delays(self, people: list[Client], match_id: str) -> Iterator[float]:
        """Seconds from the last answer of each step to its frame, once the stream was open."""
        if not self.is_over:
            return
        answered: dict[int, float] = {}
        match = people[0].get(f"/v1/matches/{match_id}")
        for seat in match["seats"]:
            owner = people[int(seat["agent_name"].split()[-1])]
            for move in owner.get(f"/v1/matches/{match_id}/seats/{seat['seat']}/log")["moves"]:
                if move["stdout"].strip():
                    at = float(move["stdout"].split()[-1])
                    answered[move["step"]] = max(at, answered.get(move["step"], 0.0))
        for step, at in answered.items():
            if at > self.opened_at and step in self.came:
                yield self.came[step] - at


if __name__ == "__main__":
    main()
