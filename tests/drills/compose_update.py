"""An update with Compose and the way back, under load: no request fails, and streams reconnect.

    scripts/drill compose-update [--from COMMIT] [--visitors 2]

Starts the earlier version behind nginx with ``deploy/nginx.conf``. Then it runs the commands of
``deploy/runbook.md`` with the version of this checkout, to which it adds a migration with a new
column for every table, and goes back to the earlier version in the same way. Meanwhile visitors
read pages and lists, change an agent and make tokens, upload agents slowly, and follow a stream;
workers play. Exits with 1 if a request fails, a stream stays away, or a match is lost or blames an
agent.
"""

from __future__ import annotations

import argparse
import itertools
import re
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final

import httpx

from benchmarks.report_tables import describe_machine
from tests import compose_project, web_proxies
from tests.compose_project import CHECKOUT, Deployment
from tests.update_steps import update_steps
from tests.waiting import wait_until

SCHEMA: Final = "ladder/database/schema.sql"
LEAGUE: Final = "game-of-life-and-death"  # its matches are short
AGENT: Final = (CHECKOUT / "agents" / "battlesnake" / "grazer" / "main.py").read_bytes()
UPLOAD_SECONDS: Final = 4.0
CHANGES_A_TOKEN: Final = 20
"""A person may make 100 tokens a day."""
STEADY_SECONDS: Final = 10.0
"""Load before the first step and after the last."""
WAIT_SECONDS: Final = 10.0
"""Time for slow uploads: the earlier version gives requests 5 s when it is stopped."""
PAGES: Final = (
    "/",
    f"/leagues/{LEAGUE}",
    f"/matches?league={LEAGUE}",
    "/leagues",
    "/docs/quick-start",
)
LISTS: Final = (f"/v1/seasons/{LEAGUE}/leaderboard", "/v1/leagues", "/v1/me/feed", "/v1/agents")


@dataclass
class Load:
    """Requests of visitors, each on a connection of its own, and what became of them."""

    address: str
    token: str
    context: ssl.SSLContext
    ended: threading.Event = field(default_factory=threading.Event)
    answers: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    streams: int = 0
    """How often a stream began."""
    slowest_seconds: float = 0.0

    def send(self, kind: str, method: str, path: str, **options: object) -> httpx.Response | None:
        """One request; None if it failed."""
        began = time.monotonic()
        try:
            with self.client() as client:
                answer = client.request(method, path, **options)  # type: ignore[arg-type]
        except httpx.HTTPError as error:
            self.fail(f"{method} {path}: {error!r}")
            return None
        self.slowest_seconds = max(self.slowest_seconds, time.monotonic() - began)
        self.answers[f"{kind} {answer.status_code}"] += 1
        if answer.is_success:
            return answer
        self.fail(f"{method} {path}: {answer.status_code} {answer.text[:200]}")
        return None

    def fail(self, text: str) -> None:
        """Keeps and prints a fault."""
        say(f"FAULT: {text}")
        self.faults.append(text)

    def client(self) -> httpx.Client:
        headers = {"Authorization": f"Bearer {self.token}"}
        return httpx.Client(base_url=self.address, verify=self.context, headers=headers, timeout=90)

    def read(self) -> None:
        """Reads pages and lists."""
        for path in itertools.cycle((*PAGES, *LISTS)):
            if self.ended.wait(0.05):
                return
            self.send("read", "GET", path)

    def write(self, agent: str, user: str) -> None:
        """Changes an agent; makes a token and revokes it."""
        for number in itertools.count():
            if self.ended.wait(0.2):
                return
            self.send("change", "PATCH", f"/v1/agents/{agent}", json={"name": f"Drill {number}"})
            if number % CHANGES_A_TOKEN:
                continue
            body = {"label": f"drill {number}", "scopes": ["read"]}
            made = self.send("create", "POST", f"/v1/users/{user}/tokens", json=body)
            if made is not None:
                token = made.json()["id"]
                self.send("delete", "DELETE", f"/v1/users/{user}/tokens/{token}")

    def upload(self, agent: str) -> None:
        """Uploads other bytes again and again, each time slowly."""

        def pieces(number: int) -> Iterator[bytes]:
            body = AGENT + f"\n# {number}\n".encode()
            size = len(body) // 8 + 1
            for start in range(0, len(body), size):
                time.sleep(UPLOAD_SECONDS / 8)
                yield body[start : start + size]

        for number in itertools.count():
            if self.ended.wait(10):
                return
            self.send(
                "upload",
                "POST",
                f"/v1/agents/{agent}/submissions",
                content=pieces(number),
                params={"filename": "main.py"},
                headers={"Content-Type": "application/octet-stream"},
            )

    def follow(self) -> None:
        """Follows the feed; begins again when the stream ends, as a browser does."""
        last: dict[str, str] = {}
        while not self.ended.wait(1):
            try:
                with (
                    self.client() as client,
                    client.stream("GET", "/v1/me/feed/stream", headers=last) as answer,
                ):
                    if answer.status_code != 200:
                        self.fail(f"stream: {answer.status_code}")
                        continue
                    self.streams += 1
                    for line in answer.iter_lines():
                        if line.startswith("id: "):
                            last = {"Last-Event-ID": line.removeprefix("id: ")}
                        if self.ended.is_set():
                            return
            except httpx.RemoteProtocolError:
                pass  # the stream ended
            except httpx.HTTPError as error:
                self.fail(f"stream: {error!r}")


@dataclass(frozen=True)
class Operator:
    """Runs the steps of the runbook."""

    site: Deployment
    proxy: web_proxies.Nginx

    def perform(self, steps: Sequence[tuple[str, ...]], image: str) -> None:
        """Runs the steps with this image."""
        site = replace(self.site, environment={**self.site.environment, "PECK_IMAGE": image})
        ports = {
            "8000": site.environment["PECK_PORT"],
            "8001": site.environment["PECK_SECOND_PORT"],
        }
        for step in steps:
            say(" ".join(step))
            began = time.monotonic()
            if step[0] == "proxy":
                self.proxy.use(f"127.0.0.1:{ports[step[1]]}")
                time.sleep(WAIT_SECONDS)
            elif step[:2] == ("docker", "compose"):
                site.compose(*step[2:])
            else:
                named = [word.replace("pecking-order", site.project) for word in step]
                subprocess.run(named, check=True)
            say(f"    took {time.monotonic() - began:.0f} s")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--from", dest="earlier", default="HEAD", metavar="COMMIT")
    parser.add_argument("--visitors", type=int, default=2)
    options = parser.parse_args()
    if first_schema(options.earlier) != first_schema("HEAD"):
        parser.error(f"--from {options.earlier}: it has another {SCHEMA}, so no update is possible")
    print(describe_machine())
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="peck-update-")))
        earlier, later = scratch / "earlier", scratch / "later"
        unpack(["git", "archive", options.earlier], earlier)
        unpack(["sh", "-c", "git ls-files -z | xargs -0 tar -c"], later)
        add_column_to_every_table(later / "ladder" / "database" / "migrations")
        settings = {
            "PECK_DEMO_LEAGUES": LEAGUE,
            "PECK_SESSION_SECRET": "drill",
            "COMPOSE_IGNORE_ORPHANS": "true",
        }
        site = stack.enter_context(compose_project.deployment(settings=settings, checkout=later))
        image = f"{site.project}:local"
        site.environment["PECK_IMAGE"] = image
        stack.callback(remove_images, site.project)
        say(f"starts {options.earlier}")
        replace(site, checkout=earlier).compose("up", "--build", "--detach", "--wait")
        folder = scratch / "nginx"
        folder.mkdir()
        proxy = stack.enter_context(
            web_proxies.nginx(folder, f"127.0.0.1:{site.environment['PECK_PORT']}")
        )
        faults = drill(Operator(site, proxy), options.visitors)
    for fault in faults:
        print(f"FAULT: {fault}")
    print("failed" if faults else "no request failed")
    return 1 if faults else 0


def drill(operator: Operator, visitors: int) -> list[str]:
    """Updates and goes back under load. Returns the faults."""
    site = operator.site
    token = site.compose(
        *("run", "--rm", "--no-deps", "migrate"),
        *("python", "-m", "services.run.setup", "--admin", "ada"),
    ).split()[-1]
    load = Load(operator.proxy.address, token, operator.proxy.authority.trusted())
    acts = prepare(load)
    threads = [
        threading.Thread(target=act) for act in (*[load.read] * visitors, load.follow, *acts)
    ]
    steps = update_steps()
    wait_until(lambda: finished(site) > 3, "matches are played", 900, pause_seconds=1)
    for thread in threads:
        thread.start()
    try:
        for name, image, part in (
            ("update", f"{site.project}:local", steps),
            ("way back", f"{site.project}:before", way_back(steps)),
        ):
            time.sleep(STEADY_SECONDS)
            before, begun = finished(site), load.streams
            say(f"-- {name}")
            operator.perform(part, image)
            time.sleep(STEADY_SECONDS)
            wait_until(partial(is_above, site, before), f"matches end after the {name}", 900)
            columns = site.query(
                "select count(*) from information_schema.columns where column_name = 'drill'"
            )
            print(
                f"{name}: {sum(load.answers.values())} answers, {len(load.faults)} faults,"
                f" {load.streams - begun} reconnected streams, {finished(site) - before} matches,"
                f" slowest answer {load.slowest_seconds:.1f} s, {columns[0][0]} new columns"
            )
            if load.streams == begun:
                load.fail(f"no stream began anew in the {name}")
    finally:
        load.ended.set()
        for thread in threads:
            thread.join()
    print(dict(load.answers))
    void = site.query("select id from matches where state = 'void'")
    blamed = site.query("select match_id, verdict from seats where verdict <> 'DONE'")
    return [
        *load.faults,
        *(f"void match {row}" for row in void),
        *(f"blamed seat {row}" for row in blamed),
    ]


def finished(site: Deployment) -> int:
    """How many matches have ended with a result."""
    return int(site.query("select count(*) from matches where state = 'finished'")[0][0])


def is_above(site: Deployment, count: int) -> bool:
    """Whether more matches than this have ended."""
    return finished(site) > count


def way_back(steps: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The same steps from the second site on, as the runbook says."""
    first = next(i for i, step in enumerate(steps) if "api-next" in step)
    return list(steps[first:])


def prepare(load: Load) -> list[Callable[[], None]]:
    """Makes an agent to change and one to upload; returns what writes."""
    me = load.send("read", "GET", "/v1/me")
    team = load.send("create", "POST", "/v1/teams", json={"name": "Drill"})
    assert me is not None
    assert team is not None
    agents = []
    for name in ("changed", "uploaded"):
        body = {"name": name, "team": team.json()["id"]}
        made = load.send("create", "POST", "/v1/agents", json=body)
        assert made is not None
        agents.append(made.json()["id"])
    user = me.json()["user"]["id"]
    return [lambda: load.write(agents[0], user), lambda: load.upload(agents[1])]


def add_column_to_every_table(migrations: Path) -> None:
    """Writes a migration with a new column for each table."""
    files = [migrations.parent / "schema.sql", *sorted(migrations.glob("*.sql"))]
    schema = "".join(file.read_text() for file in files)
    made = re.findall(r"^create table (?:if not exists )?(\w+) \(", schema, re.MULTILINE)
    dropped = set(re.findall(r"^drop table (?:if exists )?(\w+)", schema, re.MULTILINE))
    for number, table in enumerate(sorted({*made} - dropped)):
        text = f"alter table {table} add column drill text not null default '';\n"
        (migrations / f"{9800 + number}_before_drill_{table}.sql").write_text(text)


def first_schema(commit: str) -> str:
    """The first tables of a database of this commit; empty before there was such a file."""
    command = ["git", "show", f"{commit}:{SCHEMA}"]
    return subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False).stdout


def unpack(command: Sequence[str], folder: Path) -> None:
    """Unpacks the archive that a command writes."""
    folder.mkdir()
    made = subprocess.run(command, cwd=CHECKOUT, check=True, capture_output=True)
    subprocess.run(["tar", "-x", "-C", str(folder)], input=made.stdout, check=True)


def remove_images(project: str) -> None:
    """Removes the images of the drill."""
    for tag in ("local", "before"):
        subprocess.run(["docker", "rmi", f"{project}:{tag}"], check=False, capture_output=True)


def say(text: str) -> None:
    """Prints a line of progress."""
    print(f"{time.strftime('%X')} {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
