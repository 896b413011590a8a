"""The node daemon: alone holds the engine and the cgroups, lends boxes over one unix socket.

``python -m sandbox.node --socket PATH --run-dir DIR --launcher auto|docker|bubblewrap|process``

One connection is one loan. It takes profile names and a bundle's descriptor, never a container's
options; it knows no database, no broker and no network. A loan ends with ``end`` or with its
connection, and either way its box is swept before anybody else can have it. On SIGTERM, and when
the process named by ``--parent`` dies, every box is removed; a killed daemon's boxes end by
themselves because their control connections close. What then stays (empty control groups, empty
folders) goes when the next node starts in the same run directory.

What later work brings and is not here: a pressure-aware charge, freezing between moves, spare
children forked ahead, GPU profiles.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import fcntl
import hashlib
import os
import secrets
import signal
import socket
import stat
import struct
import sys
import threading
import time
from pathlib import Path
from typing import Any

from sandbox import control, launcher, profiles
from sandbox.box import wire
from sandbox.errors import BundleRefused, HostFault
from sandbox.pool import Place, Pool

MOST_BUNDLE_BYTES = 100 << 20
MEMORY_MB = (64, 65_536)
BIND_SECONDS = 90.0
START_SECONDS = 10.0
READ_SECONDS = 10.0
END_SECONDS = 12.0
_PR_SET_PDEATHSIG = 1


class Node:
    """The daemon's state and its doors."""

    def __init__(
        self,
        name: str,
        kind: launcher.Launcher,
        pool: Pool,
        image_digests: dict[str, str],
        allowed_uids: frozenset[int],
    ) -> None:
        self._name = name
        self._launcher = kind
        self._pool = pool
        self._image_digests = image_digests
        self._allowed_uids = allowed_uids
        self._lock = threading.Lock()
        self._connections: set[socket.socket] = set()

    def serve(self, listener: socket.socket) -> None:
        """Accept until the listener is shut down; a thread per connection."""
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with self._lock:
                self._connections.add(connection)
            threading.Thread(target=self._talk, args=(connection,), daemon=True).start()

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
        message, fds = wire.receive(connection, cap=1 << 16, max_fds=1, deadline=deadline)
        if not known:
            wire.close_all(fds)
            _refuse(connection, f"uid {uid} may not borrow from this node (see --allow-uid)")
            return
        try:
            if message.get("op") == "hello":
                wire.send(connection, self._hello())
            elif message.get("op") == "borrow" and len(fds) == 1:
                self._lend(connection, message, fds[0])
            else:
                _refuse(connection, "ask for hello, or for borrow with a bundle's descriptor")
        except BundleRefused as refused:
            answer = {"op": "refused", "entry": refused.entry, "reason": refused.reason}
            wire.send(connection, answer)
        except HostFault as fault:
            _refuse(connection, str(fault))
        finally:
            wire.close_all(fds)

    def _hello(self) -> dict[str, Any]:
        return {
            "op": "hello",
            "node": self._name,
            "launcher": self._launcher.name,
            "profiles": sorted(self._image_digests),
            "image_digests": self._image_digests,
            "lacks": list(self._launcher.lacks()),
        }

    def _lend(self, connection: socket.socket, message: dict[str, Any], bundle: int) -> None:
        key, deadline = self._checked(message)
        digest, size = _measure(bundle)
        if size > key[1] << 19:  # half of the box's memory, where it lies while it is unpacked
            raise BundleRefused(f"the archive is larger than half of {key[1]} MB of memory")
        place, agent = self._open(key, digest, bundle, size, deadline)
        with agent:
            lent = {"op": "lent", "node": self._name, "image_digest": self._image_digests[key[0]]}
            try:
                wire.send(connection, lent, (agent.fileno(),))
                agent.close()
                end, _ = wire.receive(connection, cap=1 << 12)
            except (wire.WireError, OSError):
                self._close(place, closed=False)
                raise
        answer = self._close(place, closed=end.get("closed") is True)
        wire.send(connection, answer)

    def _checked(self, message: dict[str, Any]) -> tuple[tuple[str, int], float]:
        profile, memory_mb = message.get("profile"), message.get("memory_mb")
        if not isinstance(profile, str) or profile not in self._image_digests:
            offered = ", ".join(sorted(self._image_digests))
            raise HostFault(f"profile: {profile!r} is not served here; served are {offered}")
        low, high = MEMORY_MB
        if type(memory_mb) is not int or not low <= memory_mb <= high:
            raise HostFault(f"memory_mb: {memory_mb!r} is not a number from {low} to {high}")
        seconds = message.get("timeout_seconds")
        if type(seconds) not in (int, float) or not 0 < seconds <= 600:  # type: ignore[operator]
            raise HostFault(f"timeout_seconds: {seconds!r} is not between 0 and 600")
        return (profile, memory_mb), time.monotonic() + float(seconds)  # type: ignore[arg-type]

    def _open(
        self, key: tuple[str, int], digest: str, bundle: int, size: int, deadline: float
    ) -> tuple[Place, socket.socket]:
        """A box of this submission with a fresh child in it; a box that fails is replaced once."""
        for attempt in (1, 2):
            place = self._pool.take(key, digest, deadline)
            try:
                if place.digest is None:
                    place.digest = digest
                    until = time.monotonic() + BIND_SECONDS
                    place.unpacked_bytes = control.bind(place.box, bundle, size, until)
                    if _measure(bundle) != (digest, size):
                        raise HostFault("the bundle changed while it was read")
                return place, control.start(place.box, time.monotonic() + START_SECONDS)
            except HostFault:
                self._pool.throw_away(place)
                if attempt == 2:
                    raise
            except BaseException:
                self._pool.throw_away(place)
                raise
        raise AssertionError("unreachable")

    def _close(self, place: Place, *, closed: bool) -> dict[str, Any]:
        """End the match and prove the box clean; a box that is not is thrown away."""
        try:
            ended = control.end(place.box, closed, time.monotonic() + END_SECONDS)
        except HostFault as fault:
            out_of_memory = self._out_of_memory(place)
            self._pool.throw_away(place)
            if not self._launcher.healthy():
                return {"op": "fault", "reason": f"the launcher does not answer: {fault}"}
            # The agent can have done this to its box, so it is never the host's fault.
            _say(f"box {place.box.spec.name} was lost in a match: {fault}")
            ended = control.Ended(None, None, out_of_memory, [], False)
            return _report(ended, out_of_memory, clean=False)
        out_of_memory = ended.out_of_memory or self._out_of_memory(place)
        if not self._launcher.reusable:
            self._pool.throw_away(place, wait=True)
            return _report(ended, out_of_memory, clean=True)
        if ended.clean and not out_of_memory:
            self._pool.give_back(place)
        else:
            _say(f"box {place.box.spec.name} is thrown away after a match")
            self._pool.throw_away(place)
        return _report(ended, out_of_memory, clean=ended.clean)

    def _out_of_memory(self, place: Place) -> bool:
        # A box is thrown away after its first such kill, so any count is this match's.
        return self._launcher.oom_kills(place.box) > 0


def _report(ended: control.Ended, out_of_memory: bool, *, clean: bool) -> dict[str, Any]:
    return {
        "op": "ended",
        "exit_code": ended.exit_code,
        "signal": ended.signal,
        "out_of_memory": out_of_memory,
        "log": ended.log,
        "clean": clean,
    }


def _refuse(connection: socket.socket, reason: str) -> None:
    wire.send(connection, {"op": "fault", "reason": reason})


def _measure(bundle: int) -> tuple[str, int]:
    """Digest and size of the bundle's bytes; BundleRefused when it is too large."""
    status = os.fstat(bundle)
    if not stat.S_ISREG(status.st_mode):
        raise HostFault("bundle: the descriptor is not of a regular file")
    if status.st_size > MOST_BUNDLE_BYTES:
        raise BundleRefused(f"the archive is larger than {MOST_BUNDLE_BYTES} bytes")
    digest, offset = hashlib.sha256(), 0
    while chunk := os.pread(bundle, 1 << 20, offset):
        digest.update(chunk)
        offset += len(chunk)
        if offset > MOST_BUNDLE_BYTES:
            raise BundleRefused(f"the archive is larger than {MOST_BUNDLE_BYTES} bytes")
    return digest.hexdigest(), offset


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


def _lock(run_dir: Path) -> int:
    """Keeps this run directory ours while we live; HostFault when another node has it."""
    lock = os.open(run_dir / "node.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise HostFault(f"run-dir: another node runs in {run_dir}") from None
    return lock


def _quarter() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 4


def _give_up(*_: object) -> None:
    raise SystemExit(0)


def _die_with(parent: int) -> None:
    """SIGTERM comes to us when our parent dies; at once when it has died already."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGTERM)


def _arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m sandbox.node", description="lends boxes")
    parser.add_argument("--socket", type=Path, required=True, help="where to listen")
    parser.add_argument("--run-dir", type=Path, required=True, help="sockets and files of boxes")
    parser.add_argument("--state-dir", type=Path, help="libraries of profiles; default: run-dir")
    parser.add_argument("--launcher", choices=launcher.CHOICES, default="auto")
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
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _give_up)  # while images are built; later the orderly way
    if options.parent is not None:
        _die_with(options.parent)
    try:
        return _run(options, stop)
    except HostFault as fault:
        _say(str(fault))
        return 2


def _run(options: argparse.Namespace, stop: threading.Event) -> int:
    name = f"node-{secrets.token_hex(4)}"
    run_dir: Path = options.run_dir.resolve()
    run_dir.mkdir(parents=True, exist_ok=True)
    state_dir = (options.state_dir or run_dir).resolve()
    names = options.profile or profiles.BY_ITSELF
    if_built = () if options.profile else profiles.ON_COMMAND
    lock = _lock(run_dir)
    kind, digests = launcher.choose(
        options.launcher, names, run_dir, state_dir, _say, if_built=if_built
    )
    for sentence in kind.lacks():
        _say(f"lacks: {sentence}")
    listener = _listen(options.socket.resolve())
    pool = Pool(
        kind,
        name,
        warm=dict.fromkeys(digests, options.warm),
        memory_mb=options.memory_mb,
        keep=options.keep,
        keep_bytes=_quarter() if options.keep_mb is None else options.keep_mb << 20,
        most=options.most,
        say=_say,
    )
    allowed = frozenset({0, os.getuid(), *options.allow_uid})
    node = Node(name, kind, pool, digests, allowed)
    acceptor = threading.Thread(target=node.serve, args=(listener,), daemon=True)
    acceptor.start()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    _say(f"ready: {name} lends {', '.join(digests)} by {kind.name} at {options.socket}")
    stop.wait()
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    node.hang_up()
    pool.close()
    kind.sweep()
    options.socket.unlink(missing_ok=True)
    os.close(lock)
    _say("stopped; every box is removed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
