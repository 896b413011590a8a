"""Accepts a daemon's connections: one connection per match, from known uids only.

The node (``node``) and the remote daemon (``remote.daemon``) use it.
"""

from __future__ import annotations

import contextlib
import errno
import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sandbox.box import wire
from sandbox.errors import BoxLate, HostFault

Serve = Callable[[socket.socket, dict[str, Any], list[int]], None]
"""Lends what a message asks for until every loan has ended. May raise HostFault before its first
answer.
"""

MOST_SEATS = 16
READ_SECONDS = 10.0
MOST_ACCEPTING = 4
"""Most threads that wait for connections."""
STRANGERS = 8
"""Most connections of unknown uids that get a reason for the refusal. More are closed at once."""
STRANGERS_SECONDS = 1.0
BACKLOG = 512
FULL_SECONDS = 0.1
"""Pause before the next accept when descriptors or threads are used up."""

_FULL = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.ECONNABORTED})


class Listener:
    """Accepts connections of known uids and answers their first message."""

    def __init__(self, serve: Serve, hello: dict[str, Any], allowed_uids: frozenset[int]) -> None:
        self._lend = serve
        self._hello = {"op": "hello", **hello}
        self._allowed_uids = allowed_uids
        self._lock = threading.Lock()
        self._connections: set[socket.socket] = set()
        self._accepting = 0
        self._strangers = threading.BoundedSemaphore(STRANGERS)

    def update_hello(self, **changes: Any) -> None:
        """Change fields of the hello that later connections get."""
        with self._lock:
            self._hello = {**self._hello, **changes}

    def start_accepting(self, listener: socket.socket) -> None:
        """Accept connections until the listener is shut down.

        The accepting thread also serves its connection while other threads accept. So a match does
        not wait for a thread to start.
        """
        for _ in range(MOST_ACCEPTING):
            self._accepting += 1
            threading.Thread(target=self._serve, args=(listener,), daemon=True).start()

    def _serve(self, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError as error:
                if error.errno not in _FULL:
                    return
                # Anybody on the host may connect. A crowd must not stop the listener for good.
                time.sleep(FULL_SECONDS)
                continue
            uid = _peer_uid(connection)
            is_known = uid in self._allowed_uids
            # Anybody on the host may connect, so strangers share a few threads.
            if not is_known and not self._strangers.acquire(blocking=False):
                _refuse_stranger(connection, uid)
                continue
            try:
                if not self._ensure_another_accepts(listener):
                    connection.close()
                    continue
                with self._lock:
                    self._connections.add(connection)
                self._serve_connection(connection, uid)
            finally:
                if not is_known:
                    self._strangers.release()
            with self._lock:
                if self._accepting >= MOST_ACCEPTING:
                    return
                self._accepting += 1

    def _ensure_another_accepts(self, listener: socket.socket) -> bool:
        """Whether another thread accepts now; False if no thread can start."""
        with self._lock:
            if self._accepting > 1:
                self._accepting -= 1
                return True
        try:
            threading.Thread(target=self._serve, args=(listener,), daemon=True).start()
        except RuntimeError:
            return False
        return True

    def hang_up(self) -> None:
        """Close every connection. Each loan's thread then notices it."""
        with self._lock:
            for connection in self._connections:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def _serve_connection(self, connection: socket.socket, uid: int) -> None:
        try:
            with connection:
                self._answer(connection, uid)
        except (wire.WireError, OSError):
            pass  # The worker went away. Its loan, if any, has ended already.
        finally:
            with self._lock:
                self._connections.discard(connection)

    def _answer(self, connection: socket.socket, uid: int) -> None:
        is_known = uid in self._allowed_uids
        # Read a stranger's message too: closing with unread bytes would lose the answer.
        deadline = time.monotonic() + (READ_SECONDS if is_known else STRANGERS_SECONDS)
        message, fds = wire.receive_frame(
            connection, cap=1 << 16, max_fds=MOST_SEATS, deadline=deadline
        )
        try:
            if not is_known:
                _send_refusal(connection, _unknown_uid_message(uid))
            elif message.get("op") == "hello":
                wire.send_frame(connection, self._hello)
            elif message.get("op") == "borrow":
                self._lend(connection, message, fds)
            else:
                _send_refusal(
                    connection, "ask for hello, or for borrow with the bundles' descriptors"
                )
        except HostFault as fault:
            _send_refusal(connection, str(fault), is_late=isinstance(fault, BoxLate))
        finally:
            wire.close_all(fds)


def read_request(message: dict[str, Any], bundles: list[int]) -> tuple[list[dict[str, Any]], float]:
    """The seats of a request, one for each bundle, and its deadline on the monotonic clock.

    Raises HostFault if the request breaks a rule.
    """
    seats, seconds = message.get("seats"), message.get("timeout_seconds")
    if not isinstance(seats, list) or not 1 <= len(seats) <= MOST_SEATS:
        raise HostFault(f"seats: must be a list of 1 to {MOST_SEATS}")
    if len(bundles) != len(seats):
        raise HostFault(f"{len(bundles)} descriptors of bundles came for {len(seats)} seats")
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds <= 600:
        raise HostFault(f"timeout_seconds: {seconds!r} is not between 0 and 600")
    if not all(isinstance(seat, dict) for seat in seats):
        raise HostFault("seats: each must be an object")
    return seats, time.monotonic() + seconds


def read_ended_seats(end: Mapping[str, Any], open_seats: Mapping[int, object]) -> list[int]:
    """The seats that a worker ends, each once. Raises WireError if one is not open."""
    seats = end.get("seats")
    if end.get("op") != "end" or not isinstance(seats, list):
        raise wire.WireError("unexpected message: after seats are lent, send only 'end'")
    if any(type(number) is not int or number not in open_seats for number in seats):
        raise wire.WireError("the ended seat is not open")
    return list(dict.fromkeys(seats))


def _peer_uid(connection: socket.socket) -> int:
    """The uid of the peer when it connected, as the kernel recorded it."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    return int(struct.unpack("=iII", credentials)[1])


def _unknown_uid_message(uid: int) -> str:
    return f"uid {uid} may not borrow from this node (see --allow-uid)"


def _refuse_stranger(connection: socket.socket, uid: int) -> None:
    """Send the refusal. The send cannot block because the buffer is empty."""
    with contextlib.suppress(wire.WireError, OSError), connection:
        connection.setblocking(False)
        connection.sendall(wire.encode_frame({"op": "fault", "reason": _unknown_uid_message(uid)}))


def _send_refusal(connection: socket.socket, reason: str, *, is_late: bool = False) -> None:
    wire.send_frame(connection, {"op": "fault", "reason": reason, "late": is_late})


def open_listening_socket(path: Path) -> socket.socket:
    """Return a listening socket at the path. Replaces a dead socket.

    Raises HostFault if another process listens there.
    """
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            probe.settimeout(1.0)
            if probe.connect_ex(str(path)) in (0, errno.EAGAIN):  # EAGAIN: its queue is full
                raise HostFault(f"another daemon listens at {path}")
        path.unlink(missing_ok=True)
        listener.bind(str(path))
        path.chmod(0o666)  # peer credentials decide who may borrow
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise HostFault(f"cannot listen at {path}: {error}") from None
    except BaseException:
        listener.close()
        raise
    return listener
