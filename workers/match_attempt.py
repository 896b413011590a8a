"""One attempt at a match: claim, play, record, finish. Translates between ladder and sandbox.

A failure of an agent is a verdict in the result. After a failure of the node, the rules or this
worker, the attempt ends without a result. Then the match is queued again, or void after its last
attempt.

An outage of the blob store costs no match. A call of a running match is repeated for WAIT_SECONDS;
its lease is renewed meanwhile. After an outage that lasted longer, this process claims no match
until the store answers again. It also claims none while the store's disk is full, because it could
not keep the result.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import BinaryIO, Final, Literal, TypeVar

import psycopg

from games import GAMES, external
from games.episode import from_bytes, to_bytes
from games.forks import Fork
from games.protocol import GameError
from ladder.database import db
from ladder.database.blobs import BlobsUnavailable, MatchBlobs
from ladder.database.kept_connection import KEPT_SECONDS, KeptConnection
from ladder.entries import remote_agents
from ladder.enums import FaultCause, MatchKind
from ladder.errors import LadderError
from ladder.ids import MatchId
from ladder.matches import lease
from ladder.matches.records import (
    AttemptFault,
    EpisodeResult,
    FinishResult,
    ForkOrder,
    MatchOrder,
    SeatResult,
)
from ladder.runtime_profiles import REMOTE
from ladder.settings import Settings
from ladder.telemetry import bind_fields, log_event, traceback_text
from sandbox.errors import BoxLate, GameFault, HostFault, HostTooSlow, SeatsAway
from sandbox.match import attempt, loans
from sandbox.match.attempt import Attempt, Lenders
from sandbox.match.clock import Clock
from sandbox.match.loans import Loan, SeatRequest
from sandbox.match.match_record import PlayedMatch
from workers.broker import WakeError, wake_rater
from workers.lease_renewal import HeldLease, hold_lease
from workers.live_publishing import publishing
from workers.liveness import record_answer

LOOK_SECONDS: Final = 0.2


class Slots:
    """How many matches a worker plays at a time, counted over all its processes.

    Make them before the worker forks. The pool of Celery and the process beside it
    (``workers.standby``) both play. Each match holds one byte of a file that all these processes
    inherit. The kernel frees the byte when its process dies.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._file = os.memfd_create("slots")
        weakref.finalize(self, os.close, self._file)

    @contextmanager
    def hold_one(self) -> Iterator[None]:
        """Waits for a free slot and holds it inside this block. A message that waits here is not
        lost: the scheduler might send it again only after a minute."""
        while (slot := self._take_one()) is None:
            record_answer()  # waiting for a slot is no stall
            time.sleep(LOOK_SECONDS)
        try:
            yield
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, slot)

    def _take_one(self) -> int | None:
        for slot in range(self._count):
            try:
                fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, slot)
            except BlockingIOError:
                continue
            return slot
        return None


WAIT_SECONDS: Final = 120.0
PAUSE_SECONDS: Final = 1.0
NO_BLOB: Final = "0" * 64
T = TypeVar("T")


class StorageWaits:
    """Whether the blob store failed this process last, and calls that outlast an outage."""

    def __init__(self, wait_seconds: float = WAIT_SECONDS) -> None:
        self._wait_seconds = wait_seconds
        self._failed = False

    def retry(self, call: Callable[[], T]) -> T:
        """Returns what the call returns. Repeats it while it raises BlobsUnavailable, and raises
        that after WAIT_SECONDS. The call must be safe to repeat, as all calls of Blobs are."""
        deadline = time.monotonic() + self._wait_seconds
        while True:
            try:
                answer = call()
            except BlobsUnavailable as error:
                if not self._failed:
                    log_event("storage_away", level="warning", error=str(error))
                self._failed = True
                if time.monotonic() > deadline:
                    raise
                record_answer()  # waiting for the store is no stall
                time.sleep(PAUSE_SECONDS)
            else:
                self._failed = False
                return answer

    def answers(self, blobs: MatchBlobs) -> bool:
        """Whether the store answers and has room. Asks for an answer only if it failed before."""
        try:
            if self._failed:
                blobs.exists(NO_BLOB)
            blobs.require_room()
        except (BlobsUnavailable, LadderError) as error:  # a site or its proxy may also refuse
            if not self._failed:
                log_event("storage_away", level="warning", error=str(error))
            self._failed = True
            return False
        self._failed = False
        return True


NODE_PAUSE_SECONDS = 10.0
REPORT_SECONDS = 60.0
PLAY_ON_SECONDS = 0.5
"""How long a playing process answers one message. Then messages of other queues get their turn."""
FAULT_CAUSES: Final[dict[type[Exception], FaultCause]] = {
    BoxLate: FaultCause.NO_BOX,
    HostTooSlow: FaultCause.SLOW_HOST,
}


@dataclass(frozen=True)
class WorkerContext:
    """What a worker passes to its playing processes."""

    settings: Settings
    blobs: MatchBlobs
    worker: str
    max_parallel_seats: int
    """Seats of a match that may compute at the same time on this host."""
    slots: Slots
    """Matches that all processes of this worker may play at the same time."""
    storage: StorageWaits = field(default_factory=StorageWaits)
    kept_seconds: float = KEPT_SECONDS
    """How long a playing process keeps an unused connection to Postgres."""

    @cached_property
    def database(self) -> KeptConnection:
        """The connection of this process. Every call of the lease is one statement."""
        return KeptConnection(
            self.settings.worker_database_url,
            autocommit=True,
            kept_seconds=self.kept_seconds,
            is_pooled=True,
        )


def play_matches(worker_context: WorkerContext, match_id: MatchId) -> list[str]:
    """Plays the match of a message, then others of its queue for PLAY_ON_SECONDS.

    So quick matches need no message each. Stops when no other match waits, and after a match
    without an accepted result. Returns the outcomes. Raises the errors of ``play_match``.
    """
    until = time.monotonic() + PLAY_ON_SECONDS
    outcomes = [play_match(worker_context, match_id)]
    while outcomes[-1] == FinishResult.ACCEPTED and time.monotonic() < until:
        outcomes.append(play_match(worker_context, match_id, claim=lease.claim_next_match))
    return outcomes


def play_match(
    worker_context: WorkerContext,
    match_id: MatchId,
    claim: Callable[[db.Connection, MatchId, str], MatchOrder | None] = lease.claim_match,
) -> str:
    """Plays the match in a free slot if it can be claimed. Returns one word for the log about the
    outcome.

    A failure in the match raises nothing: the function reports it and logs the reason. The
    claim may raise psycopg.Error or ProtocolError. The lease file may raise OSError; then the lease
    runs out.
    """
    if not _socket_answers(worker_context.settings.node_socket):
        return "no_node"  # not claimed: costs no attempt, and the message comes again
    if not worker_context.storage.answers(worker_context.blobs):
        return "no_storage"
    with worker_context.slots.hold_one():
        with worker_context.database.use() as conn:
            order = claim(conn, match_id, worker_context.worker)
        if order is None:
            return "not_ours"
        with bind_fields(match=order.match_id):  # the claim may be of another match
            return _play_claimed(worker_context, order)


def _play_claimed(worker_context: WorkerContext, order: MatchOrder) -> str:
    started = time.monotonic()
    with hold_lease(
        worker_context.settings.run_dir,
        HeldLease(
            order.match_id,
            order.attempt,
            order.lease_seconds,
            worker=worker_context.worker,
        ),
    ) as unrenewed_seconds:
        try:
            outcome = _play_attempt(worker_context, order)
        except SeatsAway as away:
            outcome = _void_match(worker_context, order, away.reasons)
        except (GameFault, GameError) as error:
            outcome = _fail_attempt(worker_context, order, "game", error)
        except HostFault as error:
            outcome = _fail_attempt(worker_context, order, "host", error)
        except Exception as error:
            outcome = _fail_attempt(worker_context, order, "worker", error)
        seconds = unrenewed_seconds()
    # The site may also have ended the match, for example a cancelled scrim.
    if outcome == FinishResult.LATE and seconds > order.lease_seconds:
        log_event(
            "lease_lost", level="warning", attempt=order.attempt, unrenewed_seconds=round(seconds)
        )
    log_event(
        "match",
        attempt=order.attempt,
        kind=order.kind,
        outcome=outcome,
        seconds=round(time.monotonic() - started, 3),
    )
    return outcome


def _play_attempt(worker_context: WorkerContext, order: MatchOrder) -> str:
    game = GAMES.get(order.game)
    if game is None:
        raise GameError(f"set PECK_GAMES as on the site: this worker has no game {order.game!r}")
    remote_socket = worker_context.settings.remote_socket
    with _open_bundles(worker_context, order) as bundles:
        if remote_socket is not None and REMOTE in order.profiles:
            _socket_answers(remote_socket)
        fork = None if order.fork is None else _read_fork(worker_context, order.fork)
        asked = Attempt(
            game,
            order.configuration if fork is None else fork.episode.configuration,
            Clock.from_json(order.clock if fork is None else fork.episode.clock),
            order.seed,
            lineup=[
                SeatRequest(profile, bundle, order.memory_mb)
                for profile, bundle in zip(order.profiles, bundles, strict=True)
            ],
            number=order.attempt,
            excused_seats=order.excused_seats,
            stops_at_fault=order.kind is MatchKind.VALIDATION,
            fork=fork,
        )
        lenders = Lenders(
            worker_context.settings.node_socket, remote_socket, worker_context.max_parallel_seats
        )
        with publishing(worker_context.settings.redis_url, order, game) as publish:
            played, lent = attempt.play(asked, lenders, publish)
    return _report_result(worker_context, order, played, lent)


def _read_fork(worker_context: WorkerContext, order: ForkOrder) -> Fork:
    blobs = worker_context.blobs
    replay = worker_context.storage.retry(lambda: b"".join(blobs.open(order.replay_digest)))
    moves = {seat: tuple(given) for seat, given in order.moves.items()}
    return Fork(from_bytes(replay), order.step, order.seed, moves)


@contextlib.contextmanager
def _open_bundles(
    worker_context: WorkerContext, order: MatchOrder
) -> Iterator[list[Path | BinaryIO]]:
    """The bundles by seat. Downloads remote ones, equal ones once. Does not read their content."""
    with contextlib.ExitStack() as stack:
        files: dict[str, Path | BinaryIO] = {}
        for digest in dict.fromkeys(order.digests):
            path = worker_context.blobs.path(digest)
            if path is None:
                copy = stack.enter_context(
                    tempfile.TemporaryFile(dir=worker_context.settings.run_dir)
                )
                _download(worker_context, digest, copy)
            files[digest] = path or copy
        yield [files[digest] for digest in order.digests]


def _download(worker_context: WorkerContext, digest: str, file: BinaryIO) -> None:
    def copy_from_start() -> None:
        file.seek(0)
        file.truncate()
        for chunk in worker_context.blobs.open(digest):
            file.write(chunk)
        file.flush()

    worker_context.storage.retry(copy_from_start)


def _store(worker_context: WorkerContext, content: bytes) -> str:
    return worker_context.storage.retry(lambda: worker_context.blobs.put_bytes(content)).digest


def _report_result(
    worker_context: WorkerContext, order: MatchOrder, played: PlayedMatch, lent: Sequence[Loan]
) -> str:
    """Stores blobs first, then the row, so that a result never names missing bytes."""
    episodes = [
        EpisodeResult(len(one.steps), _store(worker_context, to_bytes(one)))
        for one in played.episodes
    ]
    seats = [
        SeatResult(
            seat=number,
            placement=report.placement,
            reward=report.reward,
            verdict=str(report.verdict),
            reason=report.reason,
            failed_step=report.failed_step,
            charged_seconds=report.charged_seconds,
            max_move_seconds=report.max_move_seconds,
            log_digest=_store(worker_context, report.log),
            statistics=report.statistics,
            answered=report.answered or order.profiles[number] != REMOTE,
            bundle_refused=report.bundle_refused,
        )
        for number, report in enumerate(played.seats)
    ]

    def finish(conn: db.Connection) -> FinishResult:
        return lease.finish_match(
            conn,
            order.match_id,
            order.attempt,
            worker_context.worker,
            seats,
            episodes,
            node=_node_name(lent),
            image_digest=",".join(sorted({loan.image_digest for loan in lent})),
            rules_digest=rules_digest(order.game),
        )

    outcome = _retry_report(worker_context, finish)
    if outcome is FinishResult.ACCEPTED and order.kind is MatchKind.RATED:
        with contextlib.suppress(WakeError):  # the scheduler also sends it
            wake_rater(order.match_id)
    return str(outcome)


def _node_name(lent: Sequence[Loan]) -> str:
    """The node that lent the sandboxes. Without one, the remote daemon."""
    boxes = [loan.node for loan in lent if not loan.is_remote]
    return next(iter([*boxes, *(loan.node for loan in lent)]), "")


def _void_match(
    worker_context: WorkerContext, order: MatchOrder, reasons: Mapping[int, str]
) -> str:
    """Reports that remote agents of this match did not answer. The match ends and rates nobody."""
    try:
        is_told = _retry_report(
            worker_context,
            lambda conn: remote_agents.void_for_unreachable_agents(
                conn, order.match_id, order.attempt, worker_context.worker, reasons
            ),
        )
    except psycopg.Error as loss:
        log_event("give_back_failed", level="warning", error=str(loss))  # then the lease expires
        return "away_untold"
    return "away" if is_told else str(FinishResult.LATE)


def _fail_attempt(
    worker_context: WorkerContext,
    order: MatchOrder,
    whose: Literal["worker", "host", "game"],
    error: Exception,
) -> str:
    log_event(
        "attempt_failed",
        level="error",
        attempt=order.attempt,
        fault=whose,
        error=f"{type(error).__name__}: {error}",
        trace=traceback_text(error),
    )
    detail = f"{type(error).__name__}: {error}"[:500]
    fault = AttemptFault(whose, detail, FAULT_CAUSES.get(type(error)))
    try:
        _retry_report(
            worker_context,
            lambda conn: lease.fail_attempt(
                conn, order.match_id, order.attempt, worker_context.worker, fault
            ),
        )
    except psycopg.Error as loss:
        log_event("give_back_failed", level="warning", error=str(loss))  # then the lease expires
    return f"{whose}_fault"


def _retry_report(worker_context: WorkerContext, report: Callable[[db.Connection], T]) -> T:
    """Reports in one transaction. Repeats the report while Postgres does not answer, for up to
    REPORT_SECONDS. This is safe: an attempt whose report was recorded no longer holds its match."""
    deadline = time.monotonic() + REPORT_SECONDS
    while True:
        try:
            with worker_context.database.use() as conn:
                return report(conn)
        except psycopg.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)


def _socket_answers(socket: Path) -> bool:
    """Waits a little for a restarting node or remote daemon, before this attempt begins."""
    deadline = time.monotonic() + NODE_PAUSE_SECONDS
    while True:
        record_answer()  # waiting for a node is no stall
        try:
            loans.node_hello(socket)
            return True
        except HostFault as error:
            if time.monotonic() > deadline:
                log_event("node_unreachable", level="warning", error=str(error))
                return False
        time.sleep(0.2)


rules_digest = cache(external.rules_digest)
"""Digest of a game's rules, computed once per process."""


def max_parallel_seats(settings: Settings, slots: int) -> int:
    """Seats of each match that may compute at the same time: the setting, else the host's cores
    minus one, divided by the slots."""
    return settings.max_parallel_seats or max(1, (len(os.sched_getaffinity(0)) - 1) // slots)
