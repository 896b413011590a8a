"""Records workers: what each can play, and when it was last seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from ladder.database.db import Connection


@dataclass(frozen=True, slots=True)
class WorkerHello:
    """What a worker process reports when it starts, and when one of these values changes."""

    id: str
    host: str
    node: str
    queues: tuple[str, ...]
    slots: int
    profiles: tuple[str, ...]
    gpu: int = 0
    speed_class: str = "any"
    lacks: tuple[str, ...] = ()
    image_digests: Mapping[str, str] = field(default_factory=dict)
    """Digests of the node's images, by profile."""


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker process as last reported."""

    id: str
    host: str
    node: str
    queues: list[str]
    slots: int
    profiles: list[str]
    gpu: int
    speed_class: str
    lacks: list[str]
    image_digests: dict[str, str]
    started_at: datetime
    seen_at: datetime


def register_worker(conn: Connection, hello: WorkerHello) -> None:
    """Registers a worker process; a second call replaces the first."""
    document = {
        key: list(value) if isinstance(value, tuple) else value
        for key, value in asdict(hello).items()
    }
    conn.execute("select lease_register(%s)", (Jsonb(document),))


def record_heartbeat(conn: Connection, worker: str) -> float | None:
    """Records that a worker is alive. Returns the seconds until the next call: 5, and up to 20
    with many workers. None: the worker must register again."""
    row = conn.execute("select lease_alive(%s)", (worker,)).fetchone()
    assert row is not None
    return None if row[0] is None else float(row[0])


def own_queues(conn: Connection) -> tuple[str, ...] | None:
    """The only queues that the machine of this login takes messages from; None: the usual ones."""
    row = conn.execute("select lease_own_queue()").fetchone()
    return (row[0],) if row is not None and row[0] is not None else None


def delete_old_workers(conn: Connection) -> int:
    """Deletes workers not seen for a day; a worker that returns registers again."""
    return conn.execute("delete from workers where seen_at < now() - interval '1 day'").rowcount


def live_workers(conn: Connection) -> list[Worker]:
    """Returns the live workers, without those of drained and revoked machines."""
    with conn.cursor(row_factory=class_row(Worker)) as cur:
        return cur.execute(
            """
            select id, host, node, queues, slots, profiles, gpu, speed_class, lacks,
            image_digests, started_at, seen_at from workers
            where live_until > now() and not exists
            (select 1 from machines where id = workers.machine_id
              and (drained_at is not null or revoked_at is not null))
            order by id
            """
        ).fetchall()
