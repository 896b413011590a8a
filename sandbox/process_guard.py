"""The node's parent process: cleans up after a killed daemon.

The guard forks before the node has threads or an engine's library, so it shares nearly all its
memory with the node. It passes on its signals. A daemon that stops normally cleans up itself. After
any other end the guard becomes ``python -m sandbox.node.leftovers``. That command removes what is
left and exits with the daemon's status. If the guard is killed, the daemon gets SIGTERM.

The guard locks the run directory from before the daemon starts until everything is removed. So no
second node interferes. If both are killed at once, the next start cleans up.
"""

from __future__ import annotations

import _thread
import contextlib
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
"""A second signal within this time counts as the same signal."""
WAKE_SECONDS = 0.5
"""Time within which the main thread runs the handler of a signal."""
_PR_SET_PDEATHSIG = 1
_PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_IN_ORDER = (0, 2)
"""Statuses of a daemon that cleaned up itself: it stopped, or could not start."""


def run_guarded(
    work: Callable[[], int],
    run_dir: Path,
    leftovers: Sequence[str],
    parent: int | None = None,
    patience_seconds: float = 0.0,
) -> int:
    """Run ``work`` in a child. Returns its status, both in the child and in the guard.

    ``leftovers`` are the arguments of :mod:`sandbox.node.leftovers`. With ``parent`` the guard
    stops when that process dies. Raises HostFault if another guard still has the run directory
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
        os.setpgid(0, 0)  # Ctrl-C comes once, through the guard
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


def print_line(daemon: str, line: str) -> None:
    """Print a line of a daemon's log on stderr, if anybody still reads it."""
    with contextlib.suppress(OSError):
        print(f"{daemon}: {line}", file=sys.stderr, flush=True)


def die_with(parent: int, number: signal.Signals = signal.SIGTERM) -> None:
    """Ask for this signal when our parent dies. Sends it at once if the parent is dead already."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)
    if os.getppid() != parent:
        os.kill(os.getpid(), number)


def set_on_stop_signal(event: threading.Event) -> None:
    """Set this event on SIGTERM and SIGINT.

    A second signal, more than a second after the first, ends the process at once. The guard or the
    next start then cleans up. Signals within a second are one: a service manager signals both
    daemon and guard, and the guard passes its own on. A new thread sets the event: the handler may
    interrupt a main thread that has the event's lock.
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


def wait_for_stop(event: threading.Event) -> None:
    """Wait in the main thread until the event is set.

    The kernel may hand a signal to another thread. Python runs handlers in the main thread alone
    and does not wake it for that. So the main thread wakes by itself.
    """
    while not event.wait(WAKE_SECONDS):
        pass


def lock_file(path: Path, refusal: str, seconds: float = 0.0) -> int:
    """Lock the file while the returned descriptor is open.

    Raises HostFault if another process still has the lock after ``seconds``.
    """
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
    """Pass signals on until the child has ended. Returns its status, or 128 plus the signal."""
    while True:
        number = signal.sigwaitinfo({signal.SIGCHLD, *_PASSED_ON}).si_signo
        if number != signal.SIGCHLD:
            os.kill(child, number)
            continue
        # As a container's first process we also inherit other processes.
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
