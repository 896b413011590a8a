"""The node's side of the protocol with a box's supervisor, one function per operation.

Every function takes a deadline of the monotonic clock. It raises HostFault if the box does not
answer correctly; the caller must then throw the box away.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from sandbox.box import wire
from sandbox.errors import BundleRefused, HostFault
from sandbox.launchers.base import Box

START_CPU_SECONDS = 60.0
START_SECONDS = 600.0
LOOK_MS = 250
"""Pause between two looks at what a starting box has used."""
_CHUNK = 1 << 18
_SO_PASSRIGHTS = 83
"""From asm-generic/socket.h: 0 refuses descriptors, whose closing could delay the receiver."""


@dataclass(frozen=True)
class MatchEnd:
    """The supervisor's report of a match's end. The log is [step, stdout, stderr] per step."""

    exit_code: int | None
    signal: int | None
    out_of_memory: bool
    log: list[tuple[int, str, str]]
    clean: bool
    exceeded_gpu_mb: int = 0
    """Its share of a GPU's memory in MB, if the agent used more."""


def set_up_box(
    box: Box, cpu_seconds: float = START_CPU_SECONDS, seconds: float = START_SECONDS
) -> None:
    """Send the box its setup. Returns when its zygote has imported the profile's libraries.

    ``cpu_seconds`` limits a start, so a busy machine delays it but does not fail it. ``seconds`` of
    wall time limit a start that sleeps.
    """
    entry = () if box.group is None else (box.group.entry,)
    deadline = time.monotonic() + seconds
    try:
        with _translate_errors("setup"):
            wire.send_frame(box.control, dict(box.setup), entry, deadline=deadline)
            _await_first_answer(box, cpu_seconds, deadline)
            answer, _ = wire.receive_frame(box.control, deadline=deadline)
        _expect_operation(answer, "ready")
    except HostFault as fault:
        complaint = box.complaint().strip()
        raise HostFault(f"{fault}: {complaint}" if complaint else str(fault)) from None


@dataclass(frozen=True)
class BoundBox:
    """The box's answer after it has unpacked its submission."""

    unpacked_bytes: int
    """Memory of the box that the unpacked bundle occupies."""
    takes_one_match: bool
    """Whether the box must end after its first match because its network keeps traces."""


def bind_submission(
    box: Box, bundle: int, size: int, deadline: float, meanwhile: Callable[[], None]
) -> BoundBox:
    """Give the box its submission for life. Calls ``meanwhile`` while the box unpacks it.

    Raises BundleRefused if the archive breaks a rule.
    """
    with _translate_errors("bind"):
        with _new_connection(box) as theirs:
            message = {"op": "bind", "size": size}
            wire.send_frame(box.control, message, (theirs.fileno(),), deadline=deadline)
        offset = 0
        while offset < size:
            chunk = os.pread(bundle, min(_CHUNK, size - offset), offset)
            if not chunk:
                raise HostFault("the bundle became shorter while it was read")
            box.control.sendall(chunk)
            offset += len(chunk)
        meanwhile()
        answer, _ = wire.receive_frame(box.control, deadline=deadline)
    if answer.get("op") == "refused":
        entry = answer.get("entry")
        reason = str(answer.get("reason"))[:500]
        raise BundleRefused(reason, None if entry is None else str(entry)[:200])
    _expect_operation(answer, "bound")
    return BoundBox(int(answer["bytes"]), answer.get("network") is True)


@dataclass(frozen=True)
class PreforkedChild:
    """A hardened child that waits for the referee, as the worker's descriptors."""

    agent: socket.socket
    """The worker's end of its connection, one packet per frame."""
    schedstat: int | None
    """Its ``/proc/PID/schedstat``, opened by the zygote."""

    @property
    def is_alive(self) -> bool:
        """Whether it still waits. It sends nothing before its first question."""
        try:
            self.agent.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    def close(self) -> None:
        self.agent.close()
        if self.schedstat is not None:
            os.close(self.schedstat)


def take_preforked_child(box: Box, deadline: float) -> PreforkedChild:
    """Return the child that the box pre-forked after its bundle or its last match."""
    with _translate_errors("forking ahead"):
        answer, fds = wire.receive_frame(box.control, max_fds=1, deadline=deadline)
    try:
        _expect_operation(answer, "preforked")
        return PreforkedChild(box.lines.pop(), fds.pop() if fds else None)
    finally:
        wire.close_all(fds)


def announce_match(box: Box, deadline: float) -> None:
    """Tell the box that its pre-forked child plays from now on. The box does not answer."""
    with _translate_errors("play"):
        wire.send_frame(box.control, {"op": "play"}, deadline=deadline)


def request_end(box: Box, closed: bool, again: bool, deadline: float) -> None:
    """Ask for the match's end.

    ``closed`` says that the child seems to have ended itself. ``again`` asks for another pre-forked
    child.
    """
    if box.group is not None:
        box.group.thaw()
    with _translate_errors("end"):
        message = {"op": "end", "closed": closed, "again": again}
        if not again:
            wire.send_frame(box.control, message, deadline=deadline)
            return
        with _new_connection(box) as theirs:
            wire.send_frame(box.control, message, (theirs.fileno(),), deadline=deadline)


def receive_end(box: Box, deadline: float) -> MatchEnd:
    """Return the report that answers :func:`request_end`, after the box's cleanup and check."""
    with _translate_errors("end"):
        answer, _ = wire.receive_frame(box.control, deadline=deadline)
    _expect_operation(answer, "ended")
    try:
        return MatchEnd(
            _optional_int(answer["exit_code"]),
            _optional_int(answer["signal"]),
            answer["out_of_memory"] is True,
            [(int(step), str(out), str(err)) for step, out, err in answer["log"]],
            answer["clean"] is True,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise HostFault(f"the box's report cannot be read: {error!r}") from None


def _await_first_answer(box: Box, cpu_seconds: float, deadline: float) -> None:
    """Return when the box has answered or ended. Raises WireError if it took too long."""
    poll = select.poll()
    poll.register(box.control, select.POLLIN)
    while not poll.poll(LOOK_MS):
        if time.monotonic() > deadline:
            raise wire.WireError("the box did not answer in time")
        if box.group is not None and box.group.cpu_seconds() > cpu_seconds:
            raise wire.WireError(f"the box took more than {cpu_seconds:g} s of cpu time")


def _new_connection(box: Box) -> socket.socket:
    """Make a connection for the child that the box will pre-fork. Returns the agent's end.

    The box's record keeps the worker's end. The node makes the connection because a box with its
    own kernel can receive a descriptor but cannot send one.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with contextlib.suppress(OSError):  # kernels before 6.16; the box's filter forbids it too
        ours.setsockopt(socket.SOL_SOCKET, _SO_PASSRIGHTS, 0)
    box.lines.append(ours)
    return theirs


def _expect_operation(answer: dict[str, Any], expected: str) -> None:
    if answer.get("op") == expected:
        return
    reason = answer.get("reason") if answer.get("op") == "fault" else f"unexpected {answer!r:.200}"
    raise HostFault(f"the box answers: {reason}")


def _optional_int(value: Any) -> int | None:
    return None if value is None else int(value)


@contextlib.contextmanager
def _translate_errors(step: str) -> Iterator[None]:
    try:
        yield
    except (wire.WireError, OSError) as error:
        raise HostFault(f"the box failed at {step}: {error}") from None
