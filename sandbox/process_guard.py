"""The node's parent: sees to it that a daemon that is killed leaves nothing behind.

The guard forks before the node has threads or an engine's library, so it shares nearly all its
memory with it. It hands on the signals it gets. A daemon that ends in order has removed everything
itself; when it ends otherwise the guard becomes ``python -m sandbox.node.leftovers``, which removes
what is left and exits with the daemon's status. When the guard is killed the daemon gets SIGTERM.

The guard holds the run directory, from before the daemon starts until what it left is removed, so
that no second node gets in the way. Where both are killed at once the next start removes the rest.
"""

from __future__ import annotations

import _thread
import ctypes
import fcntl
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from sandbox.errors import HostFault

AGAIN_SECONDS = 1.0
"""A second signal that comes sooner after the first counts as the same one."""
_PR_SET_PDEATHSIG = 1
_PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_IN_ORDER = (0, 2)
"""Statuses of a daemon that has stopped, or could not start, and has cleaned up itself."""


def run_guarded(
    work: Callable[[], int],
    run_dir: Path,
    leftovers: Sequence[str],
    parent: int | None = None,
    patience_seconds: float = 0.0,
) -> int:
    """Run ``work`` in a child; returns its status, in the child and in the guard.

    ``leftovers`` are the arguments of :mod:`sandbox.node.leftovers`. With ``parent`` the guard is
    asked to stop when that process dies. HostFault when another guard still has the run directory
    after ``patience_seconds``.
    """
    refusal = f"run-dir: another node runs in {run_dir}"
    lock = lock_file(run_dir / "guard.lock", refusal, patience_seconds)
    guard = os.getpid()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD, *_PASSED_ON})
    if parent is not None:
        die_with(parent)
    child = os.fork()
    if child == 0:
        os.close(lock)
        os.setpgid(0, 0)  # Ctrl-C comes through the guard, once
        die_with(guard)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return work()
    status = _wait_for_child(child)
    if status in _IN_ORDER:
        return status
    os.set_inheritable(lock, True)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    program = [
        sys.executable,
        "-P",
        "-m",
        "sandbox.node.leftovers",
        "--status",
        str(status),
        *leftovers,
    ]
    paths = [str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    os.execve(program[0], program, environment)  # noqa: S606 - a list, no shell


def die_with(parent: int) -> None:
    """SIGTERM comes to us when our parent dies; at once when it has died already."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGTERM)


def set_on_stop_signal(event: threading.Event) -> None:
    """Set this event on SIGTERM and SIGINT. A second signal, more than a second after the first,
    ends the process at once; the guard or the next start removes what is left.

    Signals within a second are one: a service manager signals the daemon and the guard, which
    passes its own on. A new thread sets the event, because a handler interrupts the main thread. If
    that holds the event's lock, the handler would wait for it for ever.
    """
    first_at: float | None = None

    def on_signal(number: int, _: object) -> None:
        nonlocal first_at
        first_at = time.monotonic() if first_at is None else first_at
        if time.monotonic() - first_at > AGAIN_SECONDS:
            os._exit(128 + number)
        _thread.start_new_thread(event.set, ())

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, on_signal)


def lock_file(path: Path, refusal: str, seconds: float = 0.0) -> int:
    """A descriptor that locks this file while it is open. HostFault when another process still has
    the lock after ``seconds``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    deadline = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return lock
        except BlockingIOError:
            if time.monotonic() >= deadline:
                os.close(lock)
                raise HostFault(refusal) from None
        time.sleep(0.02)


def _wait_for_child(child: int) -> int:
    """Hand signals on until the child has ended; its status, 128 and the number for a signal."""
    while True:
        number = signal.sigwaitinfo({signal.SIGCHLD, *_PASSED_ON}).si_signo
        if number != signal.SIGCHLD:
            os.kill(child, number)
            continue
        # As a container's first process we inherit strangers too.
        while (ended := _reap_child()) is not None:
            pid, code = ended
            if pid == child:
                return code if code >= 0 else 128 - code


def _reap_child() -> tuple[int, int] | None:
    try:
        pid, status = os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return None
    return (pid, os.waitstatus_to_exitcode(status)) if pid else None
