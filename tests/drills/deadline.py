"""A class of 200 signs in and uploads in the last ten minutes before uploads close.

    scripts/drill deadline [--students 200] [--minutes 10] [--late 5] [--slots 2]

A real instance runs on this machine: site, Postgres, Redis, scheduler, worker, boxes. Each student
signs in with a password on the page, then uploads with the form of the page, in a connection of
their own. Most come late: the number that begins grows evenly up to the deadline, and every tenth
begins in the last two seconds. Every eighth sends the body slowly, so that it ends after the
deadline. ``--late`` students begin after the deadline and must be refused.

The drill exits with 1 if an upload that began in time was not accepted, if a late one was, or if
fewer than 95 % of the accepted ones were validated within ten minutes. It changes nothing on the
machine. It needs a quiet machine for the printed times to mean anything.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from secrets import token_hex

import httpx

from benchmarks.report_tables import aligned, describe_machine, quantile
from ladder.database import db
from ladder.ids import SeasonId
from ladder.people import passwords, users
from tests.stack import Stack, running

VALIDATED_SECONDS = 600.0
VALIDATED_SHARE = 0.95
SIGN_IN_BEFORE_SECONDS = 20.0
LAST_SECONDS = 2.0
SAFE_SECONDS = 0.3
"""Of an upload that begins later, nothing is claimed: its header may arrive after the deadline."""
LATE_SECONDS = 1.0
"""Of an upload that begins sooner after the deadline, nothing is claimed either: a busy server
counts a request from the earliest moment at which it may have come."""
PASSWORD = "four geese on a torus"
AGENT = (Path(__file__).parents[2] / "agents" / "hungry_geese" / "greedy" / "main.py").read_bytes()
FORM_TOKEN = re.compile(r'name="form_token" value="([^"]+)"')
WRONG = re.compile(r'class="wrong"[^>]*>([^<]+)')
KEY = re.compile(r'name="key" value="([^"]+)"')


@dataclass
class Student:
    """One student, and what happened."""

    name: str
    uploads_at: float
    """Planned start of the upload, in seconds before (below zero) or after the deadline."""
    slow_seconds: float
    """How long the body takes; 0: it is sent at once."""
    page: str = ""
    """The page with the form for uploads, once the student has signed in and opened it."""
    sign_in_seconds: float | None = None
    began_at: float | None = None
    """When the header of the upload's request was sent, in seconds relative to the deadline."""
    answered_at: float | None = None
    is_accepted: bool = False
    trouble: str = ""

    @property
    def starts_at(self) -> float:
        return self.uploads_at if self.began_at is None else self.began_at


@dataclass
class Outcome:
    """The results of a drill."""

    students: list[Student]
    validated_seconds: list[float] = field(default_factory=list)
    """Seconds from the end of an upload to the end of its validation."""
    states: Counter[str] = field(default_factory=Counter)

    @property
    def in_time(self) -> list[Student]:
        """Students whose upload began in time; one without a beginning counts by its plan."""
        return [one for one in self.students if one.starts_at <= -SAFE_SECONDS]

    @property
    def late(self) -> list[Student]:
        """Students whose upload began so late that no delay of the server makes it count."""
        return [one for one in self.students if one.starts_at >= LATE_SECONDS]

    @property
    def faults(self) -> list[str]:
        """What contradicts the rules, one sentence each."""
        told = [
            f"{one.name} began {-(one.began_at or 0):.2f} s before the deadline and was refused:"
            f" {one.trouble}"
            for one in self.in_time
            if not one.is_accepted
        ]
        told += [f"{one.name} was late and accepted" for one in self.late if one.is_accepted]
        quick = sum(seconds <= VALIDATED_SECONDS for seconds in self.validated_seconds)
        if quick < VALIDATED_SHARE * len(self.in_time):
            told.append(f"only {quick} of {len(self.in_time)} were validated within ten minutes")
        return told


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the drill; returns the exit status."""
    parser = argparse.ArgumentParser(prog="scripts/drill deadline", description=__doc__)
    parser.add_argument("--students", type=int, default=200)
    parser.add_argument("--minutes", type=float, default=10.0, help="until the deadline")
    parser.add_argument("--late", type=int, default=5, help="students who begin too late")
    parser.add_argument("--slots", type=int, default=2, help="matches played at a time")
    options = parser.parse_args(arguments)
    with running(slots=options.slots) as stack:
        outcome = run(stack, options.students, options.minutes * 60, options.late)
    print(f"{options.students} students in {options.minutes:g} minutes, {describe_machine()}")
    print(table(outcome))
    for fault in outcome.faults:
        print(fault)
    return 1 if outcome.faults else 0


def run(stack: Stack, students: int, seconds: float, late: int, **configuration: int) -> Outcome:
    """Lets the students sign in and upload; waits for the validations.

    The games have their usual length, except by a setting of ``configuration``.
    """
    season = make_season(stack, configuration)
    planned = plan(students, seconds, late, slow_seconds=min(15.0, seconds / 2))
    make_accounts(stack, planned)
    with ThreadPoolExecutor(1) as pool:  # a browser test may have left its event loop here
        pool.submit(asyncio.run, everybody(stack, season, planned, seconds)).result()
    outcome = Outcome(planned)
    await_validations(stack, season, outcome)
    return outcome


def make_season(stack: Stack, configuration: Mapping[str, int]) -> SeasonId:
    """A league of Hungry Geese with four seats and this configuration."""
    admin = stack.client(stack.admin_token)
    league = admin.post(
        "/v1/leagues", {"slug": f"class-{token_hex(3)}", "title": "A class", "game": "hungry_geese"}
    )
    made = admin.post(
        f"/v1/leagues/{league['id']}/seasons", {"seats": 4, "configuration": configuration}
    )
    return SeasonId(made["id"])


def plan(students: int, seconds: float, late: int, *, slow_seconds: float) -> list[Student]:
    """Starts of the uploads: ever denser up to the deadline, every tenth in its last seconds."""
    planned = []
    for number in range(students):
        share = (number + 0.5) / students
        before = seconds * (1 - share**0.5)
        if number % 10 == 0:
            before = LAST_SECONDS * share
        before = max(before, 2 * SAFE_SECONDS)
        planned.append(Student(f"student {number:03}", -before, slow_seconds * (number % 8 == 0)))
    planned += [Student(f"latecomer {n}", LATE_SECONDS + n / 10, 0.0) for n in range(late)]
    return planned


def make_accounts(stack: Stack, students: Sequence[Student]) -> None:
    """Accounts with a team. All passwords have one hash."""
    settings = stack.instance.settings
    hashed = passwords.PasswordHashing().hash(PASSWORD)
    with db.connect(settings.database_url) as conn:
        for one in students:
            user = users.create_user(conn, one.name)
            passwords.store_hash(conn, user.id, hashed)
            users.create_own_team(conn, one.name, user.id)


async def everybody(
    stack: Stack, season: SeasonId, students: Sequence[Student], seconds: float
) -> None:
    """Lets all students act. Those who upload soon have signed in before the deadline is set."""
    async with AsyncExitStack() as opened:
        clients = {
            one.name: await opened.enter_async_context(
                httpx.AsyncClient(
                    base_url=stack.address,
                    headers={"Accept": "text/html"},
                    timeout=300,
                    # The site closes a connection that is idle for five seconds.
                    limits=httpx.Limits(keepalive_expiry=2.0),
                    verify=False,
                )
            )
            for one in students
        }
        soon = [one for one in students if seconds + one.uploads_at <= SIGN_IN_BEFORE_SECONDS]
        await asyncio.gather(*(open_page(clients[one.name], one) for one in soon))
        deadline = set_deadline(stack, season, seconds + 1)
        await asyncio.gather(
            *(attend(clients[one.name], season, one, deadline) for one in students)
        )


def set_deadline(stack: Stack, season: SeasonId, seconds: float) -> float:
    """Closes the uploads of the season after this time; returns when, by ``time.monotonic``."""
    closes_at = datetime.now(UTC) + timedelta(seconds=seconds)
    with db.connect(stack.instance.settings.database_url) as conn:
        conn.execute("update seasons set closes_at = %s where id = %s", (closes_at, season))
    return time.monotonic() + (closes_at - datetime.now(UTC)).total_seconds()


async def attend(
    client: httpx.AsyncClient, season: SeasonId, one: Student, deadline: float
) -> None:
    """One student: signs in about twenty seconds before the upload, then uploads."""
    begins_at = deadline + one.uploads_at
    if not one.page:
        await asyncio.sleep(max(0.0, begins_at - SIGN_IN_BEFORE_SECONDS - time.monotonic()))
        await open_page(client, one)
    await asyncio.sleep(max(0.0, begins_at - time.monotonic()))
    try:
        await upload(client, season, one, deadline)
        one.answered_at = time.monotonic() - deadline
    except (httpx.HTTPError, AttributeError) as error:
        one.trouble += f"{type(error).__name__}: {error}"


async def open_page(client: httpx.AsyncClient, one: Student) -> None:
    """Signs in and opens the page with the form for uploads."""
    try:
        await sign_in(client, one)
        one.page = (await client.get("/upload")).text
    except (httpx.HTTPError, AttributeError) as error:
        one.trouble = f"{type(error).__name__}: {error}"


async def sign_in(client: httpx.AsyncClient, one: Student) -> None:
    """Signs in on the page; repeats it while the site asks to wait."""
    page = await client.get("/sign-in")
    started = time.monotonic()
    while True:
        form = {"name": one.name, "password": PASSWORD, "form_token": found(FORM_TOKEN, page.text)}
        answer = await client.post("/sign-in", data=form)
        if answer.status_code != 503:
            break
        await asyncio.sleep(float(answer.headers.get("Retry-After", 2)))
    one.sign_in_seconds = time.monotonic() - started
    if answer.status_code != 303:
        one.trouble = f"sign-in: {answer.status_code}"


async def upload(
    client: httpx.AsyncClient, season: SeasonId, one: Student, deadline: float
) -> None:
    """Sends the form of the upload page; a slow student takes a while."""
    boundary = token_hex(16)
    fields = {
        "form_token": found(FORM_TOKEN, one.page),
        "key": found(KEY, one.page),
        "season": season,
        "name": f"goose of {one.name}",
    }
    head = "".join(
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in fields.items()
    )
    head += (
        f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="main.py"\r\n'
        "Content-Type: text/x-python\r\n\r\n"
    )
    body = head.encode() + AGENT + f"# {one.name}\n\r\n--{boundary}--\r\n".encode()

    async def pieces() -> AsyncIterator[bytes]:
        one.began_at = time.monotonic() - deadline  # the header has just been sent
        step = -(-len(body) // 10) if one.slow_seconds else len(body)
        for start in range(0, len(body), step):
            yield body[start : start + step]
            await asyncio.sleep(one.slow_seconds / 10)

    answer = await client.post(
        "/upload",
        content=pieces(),
        headers={
            "Content-Type": f"multipart/form-data; boundary={boundary}",
            "Content-Length": str(len(body)),
        },
    )
    one.is_accepted = answer.status_code == 303 and "/agents/" in answer.headers["Location"]
    if not one.is_accepted:
        one.trouble = f"{answer.status_code} {' '.join(WRONG.findall(answer.text))}"


def found(pattern: re.Pattern[str], text: str) -> str:
    """The value of a hidden field. Raises AttributeError without one."""
    match = pattern.search(text)
    if match is None:
        raise AttributeError(f"no {pattern.pattern} in the page")
    return match.group(1)


def await_validations(stack: Stack, season: SeasonId, outcome: Outcome) -> None:
    """Waits until no entry is pending, or the time for validations is over."""
    until = time.monotonic() + VALIDATED_SECONDS + 60
    rows: list[tuple[str, float | None]] = []
    while time.monotonic() < until:
        with db.connect(stack.instance.settings.database_url) as conn:
            rows = conn.execute(
                "select e.state, extract(epoch from m.finished_at - e.created_at)::float"
                " from entries e join matches m on m.id = e.validation_match_id"
                " where e.season_id = %s and not e.is_anchor",
                (season,),
            ).fetchall()
        if all(state != "pending" for state, _ in rows):
            break
        time.sleep(1)
    outcome.states = Counter(state for state, _ in rows)
    outcome.validated_seconds = [
        seconds for state, seconds in rows if state == "active" and seconds is not None
    ]


def table(outcome: Outcome) -> str:
    """Times and counts, one line each."""
    signed_in = [one.sign_in_seconds for one in outcome.students if one.sign_in_seconds is not None]
    sent = [
        one.answered_at - one.began_at
        for one in outcome.in_time
        if one.answered_at is not None and one.began_at is not None and not one.slow_seconds
    ]
    after = sum((one.answered_at or 0) > 0 for one in outcome.in_time)
    quick = sum(seconds <= VALIDATED_SECONDS for seconds in outcome.validated_seconds)
    rows = [["", "count", "median, s", "p95, s", "p99, s", "longest, s"]]
    for what, samples in (
        ("signed in", signed_in),
        ("uploads answered, not slow ones", sent),
        ("validated", outcome.validated_seconds),
    ):
        times = [quantile(samples, share) for share in (0.5, 0.95, 0.99, 1.0)] if samples else []
        rows.append([what, str(len(samples)), *(f"{seconds:.2f}" for seconds in times)])
    told = [
        f"began in time: {len(outcome.in_time)}, accepted:"
        f" {sum(one.is_accepted for one in outcome.in_time)}, of these answered after the deadline:"
        f" {after}",
        f"began late: {len(outcome.late)}, accepted:"
        f" {sum(one.is_accepted for one in outcome.late)}",
        f"validated within ten minutes: {quick} of {len(outcome.in_time)}",
        "states of the entries: "
        + ", ".join(f"{state} {count}" for state, count in sorted(outcome.states.items())),
    ]
    return "\n".join([aligned([row + [""] * (6 - len(row)) for row in rows]), *told])


if __name__ == "__main__":
    sys.exit(main())
