"""Gives a worker its work while Redis brings no wake-up messages.

Redis may be away, or answer and refuse writes because its memory or disk is full. Then nobody can
send a message. So each worker has a process beside Celery, forked before Celery starts. It asks
Postgres every ASK_SECONDS meanwhile. It dies with the worker.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Final

from celery.signals import worker_shutting_down

from ladder.database.kept_connection import KeptConnection
from ladder.ids import MatchId
from ladder.matches import lease
from ladder.telemetry import log_event, traceback_text
from sandbox.process_guard import die_with
from workers import tasks
from workers.lease_renewal import held_leases
from workers.liveness import STALLED_STATUS, last_answer_at
from workers.match_attempt import WorkerContext
from workers.redis_clients import why_redis_takes_no_messages

ASK_SECONDS: Final = 3.0
SOON_SECONDS: Final = 0.5
"""Pause after a playing process ended, before the next question."""
SILENT_SECONDS: Final = 5.0
"""A machine that joined asks after so long without a message. Its login of Redis may only read, so
it cannot find out whether Redis takes messages."""


def redis_reason(redis_url: str, *, is_machine: bool = False) -> Callable[[], str | None]:
    """A function that says why this worker asks Postgres now; None: messages bring its work."""
    if not is_machine:
        return lambda: why_redis_takes_no_messages(redis_url)
    return lambda: "" if time.monotonic() - last_answer_at() > SILENT_SECONDS else None


def ask_while_needed(
    pause: Callable[[], bool], reason: Callable[[], str | None], ask: Callable[[], object]
) -> None:
    """Calls ``ask`` after each pause while there is a reason. Ends when a pause returns False. Logs
    when the reasons begin and end, and errors."""
    is_logged = False
    while pause():
        try:
            why = reason()
            if why and not is_logged:
                log_event("redis_takes_no_messages", level="warning", error=why)
            elif why is None and is_logged:
                log_event("redis_takes_messages_again")
            is_logged = bool(why)
            if why is not None:
                ask()
        except Exception as error:  # asked again after the next pause
            log_event("ask_failed", level="warning", error=str(error), trace=traceback_text(error))


class Standby:
    """The process beside a worker. ``ask`` runs in it. If it dies, the worker exits and is started
    again."""

    def __init__(self, reason: Callable[[], str | None], ask: Callable[[], object]) -> None:
        self._reason, self._ask = reason, ask
        self._pid = 0
        self._is_ending = False

    def start(self) -> None:
        """Forks the process. Call it while this process has one thread."""
        self._pid = _fork(self._serve)
        worker_shutting_down.connect(lambda **_: self._end(), weak=False)
        threading.Thread(target=self._end_worker_after_death, daemon=True).start()

    def stop(self) -> None:
        """Ends the process. Running matches end first."""
        self._end()
        os.waitpid(self._pid, 0)

    def _end_worker_after_death(self) -> None:
        os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOWAIT)  # ``stop`` waits for it too
        if not self._is_ending:
            log_event("standby_died", level="error")
            os._exit(STALLED_STATUS)  # the pool's children die too, and their leases expire

    def _end(self) -> None:
        self._is_ending = True
        os.kill(self._pid, signal.SIGTERM)  # a process that nobody waited for keeps its id

    def _serve(self) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signals = {signal.SIGTERM, signal.SIGCHLD}
        signal.pthread_sigmask(signal.SIG_BLOCK, signals)

        def pause() -> bool:
            got = signal.sigtimedwait(signals, ASK_SECONDS)
            if got is not None and got.si_signo == signal.SIGCHLD:
                time.sleep(SOON_SECONDS)
            return got is None or got.si_signo != signal.SIGTERM

        ask_while_needed(pause, self._reason, self._ask)
        while True:
            try:
                os.wait()
            except ChildProcessError:
                return


class MatchQuestions:
    """Asks for matches that wait, and plays each in a process of its own."""

    def __init__(self, context: WorkerContext, slots: int) -> None:
        self._context, self._slots = context, slots
        self._database = KeptConnection(
            context.settings.worker_database_url,
            autocommit=True,
            kept_seconds=context.kept_seconds,
            is_pooled=True,
        )
        self._playing: set[int] = set()

    def ask(self) -> None:
        """Fills the free slots of this worker, as far as matches wait."""
        self._playing -= {pid for pid in self._playing if os.waitpid(pid, os.WNOHANG)[0]}
        running = held_leases(self._context.settings.run_dir)
        busy = {match.pid for match in running if match.worker == self._context.worker}
        free = self._slots - len(busy | self._playing)
        if free <= 0:
            return
        with self._database.use() as conn:
            waiting = lease.waiting_matches(conn, self._context.worker, free)
        for match_id in waiting:
            self._playing.add(_fork(partial(_play, match_id)))


def _play(match_id: MatchId) -> None:
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM, signal.SIGCHLD})
    tasks.play_match(match_id)


def _fork(run: Callable[[], None]) -> int:
    """Runs the function in a child that dies with this process. Returns the child's id."""
    parent = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        die_with(parent, signal.SIGKILL)
        run()
        status = 0
    except Exception as error:
        log_event("process_failed", level="error", error=str(error), trace=traceback_text(error))
    finally:
        os._exit(status)  # the parent's connections and threads are not ours to close
