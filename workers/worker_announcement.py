"""Reports to the ladder that a worker lives, and what it offers, also how fast it computes."""

from __future__ import annotations

import hashlib
import math
import os
import signal
import socket
import time
from collections.abc import Sequence
from typing import Final

from ladder.database.kept_connection import KeptConnection
from ladder.matches import workers
from ladder.matches.workers import WorkerHello
from ladder.settings import Settings
from ladder.telemetry import log_event
from sandbox.errors import HostFault
from sandbox.match import loans
from workers.lease_renewal import LONGEST_PAUSE_SECONDS
from workers.redis_clients import OPEN

WINDOWS: Final = 6
WINDOW_SECONDS: Final = 0.05
ROUNDS: Final = 200
AGAIN_SECONDS: Final = 60.0
REFERENCE_SPEED: Final = 6000.0
"""Speed of a machine of class 1x."""
CLASS_STEP: Final = 1.25
"""Ratio of two neighbouring speed classes."""


class SpeedMeter:
    """The best speed that this machine has shown. Busy neighbours only make it look slower."""

    def __init__(self) -> None:
        self._best = max(_measure_window() for _ in range(WINDOWS))
        self._measured_at = time.monotonic()

    def speed(self) -> float:
        """Thousands of rounds per second of processor time on one core. Measures once a minute."""
        if time.monotonic() - self._measured_at > AGAIN_SECONDS:
            self._best = max(self._best, _measure_window())
            self._measured_at = time.monotonic()
        return self._best


def speed_class(speed: float) -> str:
    """Name of the nearest speed class: ``1x``, ``1.2x``, ``1.6x``, ``2x``, and so on."""
    step = round(math.log(speed / REFERENCE_SPEED, CLASS_STEP))
    return f"{CLASS_STEP**step:.2g}x"


def _measure_window() -> float:
    """Hashes and adds, as agents in Python do; other processes cost no processor time of ours."""
    started, rounds, total, text = time.thread_time(), 0, 0, b"peck"
    while (spent := time.thread_time() - started) < WINDOW_SECONDS:
        for number in range(ROUNDS):
            total = (total * 31 + number) & 0xFFFFFFFF
            if number % 8 == 0:
                text = hashlib.sha256(text).digest()
        rounds += ROUNDS
    return rounds / spent / 1000


REMOTE_SECONDS = 1.0
"""Timeout for the remote daemon's hello in seconds; the worker's own heartbeat must not wait."""


class WorkerAnnouncement:
    """The announcement of one worker. On a machine that joined (``is_machine``) it also ends the
    worker when the tier of the machine changed: the next start serves other queues."""

    def __init__(
        self,
        settings: Settings,
        worker: str,
        queues: Sequence[str],
        slots: int,
        database: KeptConnection,
        *,
        is_machine: bool,
    ) -> None:
        self._settings, self._worker, self._slots = settings, worker, slots
        self._queues = tuple(queues)
        self._database = database
        self._is_machine = is_machine
        self._own_queues = (OPEN,) if self._queues == (OPEN,) else None
        """Queues that the tier of the machine gave when the worker started."""
        self._is_ending = False
        self._meter = SpeedMeter()
        self._registered: WorkerHello | None = None
        """The hello that the ladder has."""
        self._due_at = 0.0
        """When the next heartbeat is due (monotonic clock)."""

    def announce(self) -> None:
        """Registers what the node and the remote daemon offer if that changed. Otherwise sends a
        heartbeat if one is due. Raises HostFault while the node does not answer, so the worker
        soon no longer counts as live."""
        node = loans.node_hello(self._settings.node_socket)
        hello = self._make_hello(node)
        if hello == self._registered and time.monotonic() < self._due_at:
            return
        with self._database.use() as conn:
            if self._is_machine and not self._is_ending:
                self._end_if_tier_changed(workers.own_queues(conn))
            if hello == self._registered:
                seconds = workers.record_heartbeat(conn, self._worker)
                if seconds is not None:
                    # LeaseRenewal calls this every LONGEST_PAUSE_SECONDS: take the nearest call.
                    self._due_at = time.monotonic() + seconds - LONGEST_PAUSE_SECONDS / 2
                    return
            workers.register_worker(conn, hello)
        self._registered, self._due_at = hello, 0.0
        log_event(
            "worker_ready",
            worker=self._worker,
            node=node.node,
            launcher=node.launcher,
            slots=self._slots,
            profiles=",".join(hello.profiles),
        )

    def _make_hello(self, node: loans.NodeHello) -> WorkerHello:
        remote = _request_remote_hello(self._settings)
        return WorkerHello(
            id=self._worker,
            host=socket.gethostname(),
            node=node.node,
            queues=self._queues,
            slots=self._slots,
            profiles=(*node.profiles, *remote.profiles) if remote else node.profiles,
            gpu=node.gpus,
            speed_class=self._settings.speed_class or speed_class(self._meter.speed()),
            lacks=node.lacks,
            image_digests={**node.image_digests, **(remote.image_digests if remote else {})},
        )

    def _end_if_tier_changed(self, own_queues: tuple[str, ...] | None) -> None:
        if own_queues != self._own_queues:
            self._is_ending = True
            log_event("worker_ends", reason="the tier of this machine changed")
            os.kill(os.getpid(), signal.SIGTERM)


def _request_remote_hello(settings: Settings) -> loans.NodeHello | None:
    """The remote daemon's hello. None without a daemon, or while it does not answer."""
    if settings.remote_socket is None:
        return None
    try:
        return loans.node_hello(settings.remote_socket, REMOTE_SECONDS)
    except HostFault:
        return None
