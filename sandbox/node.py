"""The node daemon: alone holds the engine and the cgroups, lends boxes over one unix socket.

``python -m sandbox.node --socket PATH --run-dir DIR --launcher auto|docker|bubblewrap|process``

One connection is one match's loans (``lending``). It takes profile names and bundles' descriptors,
never a container's options; it knows no database, no broker and no network. On SIGTERM, and when
the process named by ``--parent`` dies, every box is removed; a killed daemon's boxes end by
themselves because their control connections close, and its guard (``guard``, the process that was
started) removes the control groups and folders that then stay.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import os
import secrets
import signal
import socket
import struct
import sys
import threading
import time
from pathlib import Path
from typing import Any

from sandbox import guard, launcher, leftovers, profiles, runtimes, witness
from sandbox.box import wire
from sandbox.doctor import degraded
from sandbox.errors import HostFault
from sandbox.gpu import Devices
from sandbox.lending import MOST_SEATS, Lender
from sandbox.pool import Pool
from sandbox.witness import Witness

READ_SECONDS = 10.0
AT_THE_DOOR = 4
"""Threads that wait for connections."""
FULL_SECONDS = 0.1
"""Between two tries to let somebody in while descriptors or threads are used up."""

_FULL = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.ECONNABORTED})


class Node:
    """The daemon's doors: who may come in, and which of two questions they ask."""

    def __init__(self, lender: Lender, hello: dict[str, Any], allowed_uids: frozenset[int]) -> None:
        self._lender = lender
        self._hello = {"op": "hello", **hello}
        self._allowed_uids = allowed_uids
        self._lock = threading.Lock()
        self._connections: set[socket.socket] = set()
        self._at_the_door = 0

    def open(self, listener: socket.socket) -> None:
        """Let people in until the listener is shut down.

        Whoever accepts a connection also talks on it, while others wait at the door: a match that
        borrows need not wait for a thread to start.
        """
        for _ in range(AT_THE_DOOR):
            self._at_the_door += 1
            threading.Thread(target=self._serve, args=(listener,), daemon=True).start()

    def _serve(self, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError as error:
                if error.errno not in _FULL:
                    return
                # Anybody on the host may knock, so a crowd must not shut the door for good.
                time.sleep(FULL_SECONDS)
                continue
            if not self._leave_the_door(listener):
                connection.close()
                continue
            with self._lock:
                self._connections.add(connection)
            self._talk(connection)
            with self._lock:
                if self._at_the_door >= AT_THE_DOOR:
                    return
                self._at_the_door += 1

    def _leave_the_door(self, listener: socket.socket) -> bool:
        """Whether somebody else is there now; False where no thread is to be had."""
        with self._lock:
            if self._at_the_door > 1:
                self._at_the_door -= 1
                return True
        try:
            threading.Thread(target=self._serve, args=(listener,), daemon=True).start()
        except RuntimeError:
            return False
        return True

    def hang_up(self) -> None:
        """End every conversation; the loans' own threads then find their connection closed."""
        with self._lock:
            for connection in self._connections:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def _talk(self, connection: socket.socket) -> None:
        try:
            with connection:
                self._answer(connection)
        except (wire.WireError, OSError):
            pass  # the worker went away; its loan, if any, was ended on the way out
        finally:
            with self._lock:
                self._connections.discard(connection)

    def _answer(self, connection: socket.socket) -> None:
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        uid = struct.unpack("=iII", credentials)[1]
        known = uid in self._allowed_uids
        # A stranger's message is read too: closing over unread bytes would lose the answer.
        deadline = time.monotonic() + (READ_SECONDS if known else 1.0)
        message, fds = wire.receive(connection, cap=1 << 16, max_fds=MOST_SEATS, deadline=deadline)
        try:
            if not known:
                _refuse(connection, f"uid {uid} may not borrow from this node (see --allow-uid)")
            elif message.get("op") == "hello":
                wire.send(connection, self._hello)
            elif message.get("op") == "borrow":
                self._lender.serve(connection, message, fds)
            else:
                _refuse(connection, "ask for hello, or for borrow with the bundles' descriptors")
        except HostFault as fault:
            _refuse(connection, str(fault))
        finally:
            wire.close_all(fds)


def _refuse(connection: socket.socket, reason: str) -> None:
    wire.send(connection, {"op": "fault", "reason": reason})


def _say(line: str) -> None:
    print(f"node: {line}", file=sys.stderr, flush=True)


def _listen(path: Path) -> socket.socket:
    """A listening socket at the path, in place of a dead one; HostFault when a node lives there."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            probe.settimeout(1.0)
            if probe.connect_ex(str(path)) == 0:
                raise HostFault(f"another node listens at {path}")
        path.unlink(missing_ok=True)
        listener.bind(str(path))
        path.chmod(0o666)  # who may borrow is decided by peer credentials
        listener.listen(64)
    except OSError as error:
        listener.close()
        raise HostFault(f"cannot listen at {path}: {error}") from None
    except BaseException:
        listener.close()
        raise
    return listener


def _witness() -> tuple[Witness | None, tuple[str, ...]]:
    """Who sees cores go away, where they can; and what is lacking where nobody may."""
    if not witness.is_needed():
        return None, ()
    try:
        return Witness(), ()
    except OSError:
        return None, degraded.sentences(degraded.NO_WITNESS)


def _quarter() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 4


def _give_up(*_: object) -> None:
    raise SystemExit(128 + signal.SIGTERM)  # not in order: the guard looks for what is left


def _arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m sandbox.node", description="lends boxes")
    parser.add_argument("--socket", type=Path, required=True, help="where to listen")
    parser.add_argument("--run-dir", type=Path, required=True, help="sockets and files of boxes")
    parser.add_argument("--state-dir", type=Path, help="libraries of profiles; default: run-dir")
    parser.add_argument("--launcher", choices=launcher.CHOICES, default="auto")
    parser.add_argument(
        "--runtime",
        default=runtimes.from_environment(),
        help="the engine's runtime for boxes, as runsc; default: $PECK_NODE_RUNTIME, or its own",
    )
    parser.add_argument("--profile", action="append", choices=sorted(profiles.PROFILES))
    parser.add_argument("--warm", type=int, default=2, help="generic boxes ready per profile")
    parser.add_argument("--memory-mb", type=int, default=1024, help="memory of those boxes")
    parser.add_argument("--keep", type=int, default=24, help="idle boxes kept for submissions")
    parser.add_argument("--keep-mb", type=int, help="their bundles; default: 1/4 of all memory")
    parser.add_argument("--most", type=int, default=64, help="boxes in all")
    parser.add_argument("--allow-uid", type=int, action="append", default=[])
    parser.add_argument("--parent", type=int, help="end when this parent process has died")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """Serve until SIGTERM or SIGINT; 2 with one line when the node cannot start."""
    options = _arguments(arguments)
    run_dir: Path = options.run_dir.resolve()
    left = ["--run-dir", str(run_dir), "--socket", str(options.socket.resolve())]
    left += ["--state-dir", str((options.state_dir or run_dir).resolve())]
    left += ["--launcher", options.launcher]
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _give_up)  # while images are built; later the orderly way
    try:
        return guard.guarded(
            lambda: _run(options, threading.Event()), run_dir, left, options.parent
        )
    except HostFault as fault:
        _say(str(fault))
        return 2


def _run(options: argparse.Namespace, stop: threading.Event) -> int:
    name = f"node-{secrets.token_hex(4)}"
    run_dir: Path = options.run_dir.resolve()
    state_dir = (options.state_dir or run_dir).resolve()
    names = options.profile or profiles.BY_ITSELF
    if_built = () if options.profile else profiles.ON_COMMAND
    lock = leftovers.wait_to_hold(run_dir)  # a predecessor may be closing down
    kind, digests = launcher.choose(
        options.launcher,
        names,
        run_dir,
        state_dir,
        _say,
        if_built=if_built,
        runtime=options.runtime,
    )
    cores, unseen = _witness()
    lacks = (*kind.lacks(), *unseen)
    for sentence in lacks:
        _say(f"lacks: {sentence}")
    listener = _listen(options.socket.resolve())
    devices = Devices(kind.gpus())
    pool = Pool(
        kind,
        name,
        # A box that waits would keep its GPU from all others.
        warm={n: 0 if profiles.get(n).gpu else options.warm for n in digests},
        devices=devices,
        memory_mb=options.memory_mb,
        keep=options.keep,
        keep_bytes=_quarter() if options.keep_mb is None else options.keep_mb << 20,
        most=options.most,
        say=_say,
    )
    hello = {
        "node": name,
        "launcher": kind.name,
        "profiles": sorted(digests),
        "image_digests": digests,
        "lacks": list(lacks),
        "gpus": len(devices),
    }
    allowed = frozenset({0, os.getuid(), *options.allow_uid})
    node = Node(Lender(name, kind, pool, digests, cores), hello, allowed)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())  # before anybody can be answered
    node.open(listener)
    _say(f"ready: {name} lends {', '.join(digests)} by {kind.name} at {options.socket}")
    stop.wait()
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    node.hang_up()
    pool.close()
    if cores is not None:
        cores.close()
    kind.sweep()
    options.socket.unlink(missing_ok=True)
    os.close(lock)
    _say("stopped; every box is removed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
