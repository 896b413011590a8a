"""Measures how soon notices reach their webhooks, with a dead and a slow receiver among them.

    python -m benchmarks.notices [--events 1000] [--rate 25] [--people 40] [--kill]

It starts Postgres, Redis, the scheduler's job and one notifier as `peck up` does, and a receiver in
this process. Every event tells one of the people, in turn, each of whom has one webhook. One
webhook never answers, and one answers after four seconds. The clock runs from the commit of the
event to the arrival of the request at the receiver.

With ``--kill`` the notifier is killed in the middle, and the table says what was lost or repeated.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.report_tables import aligned, describe_machine, quantile
from egress.address import parse
from ladder.database import db, migrate
from ladder.ids import UserId
from ladder.notices import channels
from ladder.notices.events import EventSubject, record_event
from ladder.notices.kinds import Form, NoticeKind
from ladder.people import users
from services import embedded_servers
from services.scheduler import leader
from services.scheduler.jobs import expire_deliveries
from services.scheduler.leader import Job
from services.scheduler.wake_messages import WakeMessages
from tests import servers
from tests.receivers import ENVIRONMENT, Receiver, receiving
from workers import broker

LIMIT_SECONDS = 5.0
AIM = 0.95
SLOW_SECONDS = 4.0
DRAIN_SECONDS = 120.0
DEAD, SLOW = "/dead", "/slow"
NEVER = float("inf")


@dataclass
class Run:
    """What a run needs and finds."""

    database_url: str
    redis_url: str
    notifier_url: str
    log: Path
    receiver: Receiver
    people: dict[UserId, str] = field(default_factory=dict)
    """Path of each person's webhook."""
    told_at: dict[str, float] = field(default_factory=dict)
    """Time of each event by its id."""

    def start_notifier(self) -> subprocess.Popen[bytes]:
        kept = {name: text for name, text in os.environ.items() if not name.startswith("PECK_")}
        with self.log.open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "workers.notifier"],
                env={
                    **kept,
                    **ENVIRONMENT,
                    "PECK_NOTIFIER_DATABASE_URL": self.notifier_url,
                    "PECK_REDIS_URL": self.redis_url,
                },
                stderr=log,
            )


@contextmanager
def prepared() -> Iterator[Run]:
    """A migrated database, Redis and a receiver."""
    folder = Path(tempfile.mkdtemp(prefix="peck-notices-", dir=servers.fast_place()))
    folder.chmod(0o711)
    postgres = embedded_servers.start_postgres(folder)
    redis = embedded_servers.start_redis(folder)
    try:
        migrate.migrate(postgres.url, after=True)
        with db.connect(postgres.url) as conn:
            password = embedded_servers.role_password(folder, db.NOTIFIER_ROLE)
            db.set_login(conn, db.NOTIFIER_ROLE, password)
        url = embedded_servers.postgres_url(folder, "peck", db.NOTIFIER_ROLE)
        with receiving() as receiver:
            receiver.slow_seconds = SLOW_SECONDS
            yield Run(postgres.url, redis.url, url, folder / "notifier.log", receiver)
    finally:
        redis.stop()
        postgres.stop()
        shutil.rmtree(folder, ignore_errors=True)


def make_people(run: Run, count: int) -> None:
    """People with one webhook each; the first is dead, the second slow."""
    with db.connect(run.database_url) as conn:
        for number in range(count):
            person = users.create_user(conn, f"person {number}").id
            path = {0: DEAD, 1: SLOW}.get(number, f"/hook/{number}")
            channels.create_channel(conn, person, Form.WEBHOOK, parse(run.receiver.url(path)))
            run.people[person] = path
        # All receivers are on this machine. Outside, each has a host and its own limit of calls.
        conn.execute("update notice_channels set host = id")


def record_events(run: Run, count: int, rate: float, at_half: threading.Event) -> None:
    """Commits one event after another, at this rate a second."""
    people = list(run.people)
    began = time.monotonic()
    with db.connect(run.database_url, autocommit=True) as conn:
        for number in range(count):
            time.sleep(max(0.0, began + number / rate - time.monotonic()))
            about = EventSubject(user_id=people[number % len(people)])
            event = record_event(conn, NoticeKind.JOIN_APPROVED, about)
            run.told_at[event] = time.time()
            if number == count // 2:
                at_half.set()


def delivery_times(run: Run) -> dict[str, list[float]]:
    """Seconds from event to first arrival by group of receivers; NEVER if it did not arrive.

    Deliveries to the dead receiver are left out.
    """
    with db.connect(run.database_url) as conn:
        rows = conn.execute(
            "select d.id, n.event_id, n.user_id from notice_deliveries d"
            " join notices n on n.id = d.notice_id"
        ).fetchall()
    arrived: dict[str, float] = {}
    for call in list(run.receiver.calls):
        arrived.setdefault(call.id, call.at)
    found: dict[str, list[float]] = {"quick": [], SLOW: []}
    for delivery, event, person in rows:
        path = run.people[UserId(person)]
        if path == DEAD:
            continue
        group = SLOW if path == SLOW else "quick"
        found[group].append(arrived.get(delivery, NEVER) - run.told_at[event])
    return found


def wait_until_drained(run: Run) -> None:
    """Waits until all but the deliveries to the dead and the slow receiver are sent."""
    deadline = time.monotonic() + DRAIN_SECONDS
    query = (
        "select count(*) from notice_deliveries d join notice_channels c on c.id = d.channel_id"
        " where d.state = 'waiting' and c.address not like %s and c.address not like %s"
    )
    with db.connect(run.database_url, autocommit=True) as conn:
        while time.monotonic() < deadline:
            if conn.execute(query, (f"%{DEAD}", f"%{SLOW}")).fetchone() == (0,):
                return
            time.sleep(0.2)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0] if __doc__ else "")
    parser.add_argument("--events", type=int, default=1000)
    parser.add_argument("--rate", type=float, default=25.0, help="events a second")
    parser.add_argument("--people", type=int, default=40)
    parser.add_argument("--kill", action="store_true", help="kill the notifier in the middle")
    options = parser.parse_args()
    with prepared() as run:
        make_people(run, options.people)
        broker.app = broker.make_celery_app(run.redis_url)  # type: ignore[misc]
        stopping = threading.Event()
        wakes = WakeMessages(broker.send_wake_up)
        jobs = [
            Job("notify", 0.0, wakes.send_notice_messages),
            Job("expire notices", 60.0, expire_deliveries),
        ]
        lead = threading.Thread(target=leader.lead, args=(run.database_url, jobs, stopping))
        lead.start()
        notifier = run.start_notifier()
        try:
            at_half = threading.Event()
            writing = threading.Thread(
                target=record_events, args=(run, options.events, options.rate, at_half)
            )
            time.sleep(5)  # the notifier imports its modules
            writing.start()
            if options.kill:
                at_half.wait()
                notifier.kill()
                notifier.wait()
                time.sleep(1)
                notifier = run.start_notifier()
            writing.join()
            wait_until_drained(run)
            print_report(run, options, delivery_times(run))
        finally:
            notifier.send_signal(signal.SIGTERM)
            stopping.set()
            lead.join()
            run.receiver.ended.set()
            notifier.wait(30)
    return 0


def print_report(run: Run, options: argparse.Namespace, found: dict[str, list[float]]) -> None:
    """Prints the table. Deliveries to the dead receiver count nowhere."""
    quick, everything = found["quick"], found["quick"] + found[SLOW]
    lost = quick.count(NEVER)
    repeats = Counter(call.id for call in run.receiver.calls if call.path not in (DEAD, SLOW))
    share = share_in_time(everything)
    print(
        f"{options.events} events at {options.rate:g} a second, {options.people} webhooks, one of"
        f" them dead, one answers after {SLOW_SECONDS:g} s"
        + ("; the notifier is killed in the middle" if options.kill else "")
    )
    print(describe_machine())
    rows = [
        ("what", "measured", "target", "met?"),
        (
            f"out within {LIMIT_SECONDS:g} s, all but the dead one",
            f"{share:.1%} of {len(everything)}",
            f">= {AIM:.0%}",
            "yes" if share >= AIM else "NO",
        ),
        ("the same without the slow one", f"{share_in_time(quick):.1%} of {len(quick)}", "-", "-"),
        (
            "seconds from event to arrival, median / 99 %",
            f"{quantile(quick, 0.5):.2f} / {quantile(quick, 0.99):.2f}",
            "-",
            "-",
        ),
        ("lost", str(lost), "0", "yes" if lost == 0 else "NO"),
        (
            "arrived twice, with the same id",
            str(sum(count > 1 for count in repeats.values())),
            "-",
            "-",
        ),
    ]
    print(aligned(rows))


def share_in_time(times: list[float]) -> float:
    return sum(seconds <= LIMIT_SECONDS for seconds in times) / max(1, len(times))


if __name__ == "__main__":
    sys.exit(main())
