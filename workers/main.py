"""A worker process: ``python -m workers.main`` plays matches; ``--queues rate`` rates and
``--queues draw`` draws pictures.

The parent process of a playing worker registers with the ladder and renews the leases of its run
directory. Celery's prefork children play. A worker's name is random, so a restart makes a new
worker.
"""

from __future__ import annotations

import argparse
import os
import secrets
import socket
import sys
from collections.abc import Callable, Sequence
from functools import partial

from games import external
from ladder.database import db
from ladder.database.blobs import open_blobs
from ladder.database.kept_connection import KEPT_SECONDS, KeptConnection
from ladder.ids import MatchId
from ladder.matches import lease as matches_lease
from ladder.matches import workers
from ladder.settings import Settings
from workers import match_attempt, tasks
from workers.broker import QUEUES, machine_login, require_setting, run_worker
from workers.lease_renewal import HeldLease, LeaseRenewal
from workers.liveness import monitor_stalls, playing_children
from workers.match_attempt import Slots
from workers.site_blobs import open_match_blobs
from workers.standby import MatchQuestions, Standby, redis_reason
from workers.worker_announcement import WorkerAnnouncement

DRAW_NICENESS = 10
"""Pictures take only time that nobody else wants."""
FAR_KEPT_SECONDS = 30.0
"""How long a machine that joined keeps an unused connection to Postgres, with FAR_SLOTS at most. A
new one takes six ways there and back."""
FAR_SLOTS = 32
"""With three connections more for the worker itself, fewer than a machine may open."""
CHILD_MESSAGES = 500
"""Messages that a child of the pool answers before a new child replaces it."""
RATER_MESSAGES = 50_000
"""Messages that a rater's child answers, four a second at most. A new child reads the logs of all
seasons again, and ratings wait meanwhile."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Serves until SIGTERM, which lets running matches end first."""
    settings = Settings()
    options = _make_argument_parser(settings).parse_args(arguments)
    queues = [name.strip() for name in options.queues.split(",") if name.strip()]
    served = [queue for queue in QUEUES if queue != "notices"]  # workers.notifier serves it
    unknown = sorted(set(queues) - set(served))
    if unknown or not queues:
        sys.exit(f"--queues: choose from {', '.join(served)}; unknown: {', '.join(unknown)}")
    for name in ("rate", "draw"):
        if name in queues and len(queues) > 1:
            sys.exit(f"--queues: use {name} alone, because it needs more database rights")
    try:
        external.register_games(settings.games)
    except external.ExternalGameError as error:
        sys.exit(f"PECK_GAMES: {error}")
    is_machine = machine_login(settings.redis_url) is not None
    if is_machine:
        with db.connect(settings.worker_database_url) as conn:
            queues = [*(workers.own_queues(conn) or queues)]
    renewal = None
    ask: Callable[[], object]
    if queues in (["rate"], ["draw"]):
        tasks.database_url = require_setting(settings.database_url, "PECK_DATABASE_URL")
        if queues == ["draw"]:
            os.nice(DRAW_NICENESS)
            require_setting(settings.blobs_url, "PECK_BLOBS_URL")
        if settings.blobs_url:  # without it a rater checks no results of machines
            tasks.blobs = open_blobs(settings.blobs_url)
        task = tasks.rate_seasons if queues == ["rate"] else tasks.draw_pictures
        ask = partial(task, "no message")
    else:
        renewal = prepare_worker(settings, queues, options.slots, is_machine=is_machine)
        assert tasks.worker_context is not None
        ask = MatchQuestions(tasks.worker_context, options.slots).ask
    redis_url = require_setting(settings.redis_url, "PECK_REDIS_URL")
    standby = Standby(redis_reason(redis_url, is_machine=is_machine), ask)
    standby.start()
    if renewal is not None:
        renewal.start()
    monitor_stalls(
        redis_url,
        queues,
        lambda: playing_children(settings.run_dir, os.getpid()),
        options.slots,
    )
    tasks.worker_pid = os.getpid()
    messages = RATER_MESSAGES if queues == ["rate"] else CHILD_MESSAGES
    try:
        run_worker("prefork", queues, options.slots, "--max-tasks-per-child", str(messages))
    finally:
        standby.stop()
        if renewal is not None:
            renewal.stop()


def _make_argument_parser(settings: Settings) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m workers.main", description=__doc__)
    parser.add_argument("--queues", default=settings.queues, help="comma-separated queues")
    parser.add_argument("--slots", type=int, default=settings.worker_slots, help="matches at once")
    return parser


def prepare_worker(
    settings: Settings, queues: list[str], slots: int, *, is_machine: bool
) -> LeaseRenewal:
    """Sets ``tasks.worker_context``, which the pool's children inherit. Returns the thread that
    renews leases and announces the worker, not started."""
    url = require_setting(settings.worker_database_url, "PECK_WORKER_DATABASE_URL")
    require_setting(settings.blobs_url, "PECK_BLOBS_URL")
    blobs = open_match_blobs(settings)
    worker = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"
    is_far = bool(settings.machine_secret) and slots <= FAR_SLOTS
    tasks.worker_context = match_attempt.WorkerContext(
        settings,
        blobs,
        worker,
        match_attempt.max_parallel_seats(settings, slots),
        Slots(slots),
        kept_seconds=FAR_KEPT_SECONDS if is_far else KEPT_SECONDS,
    )
    database = KeptConnection(
        url,
        autocommit=True,
        kept_seconds=FAR_KEPT_SECONDS if settings.machine_secret else KEPT_SECONDS,
        is_pooled=True,
    )
    announcement = WorkerAnnouncement(
        settings, worker, queues, slots, database, is_machine=is_machine
    )

    def renew(leases: list[HeldLease]) -> list[tuple[MatchId, int]]:
        with database.use() as conn:
            return matches_lease.renew_leases(
                conn, [(lease.match_id, lease.attempt) for lease in leases]
            )

    return LeaseRenewal(settings.run_dir, renew, announcement.announce)


if __name__ == "__main__":
    main()
