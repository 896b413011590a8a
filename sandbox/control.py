"""The node's side of the conversation with a box's supervisor, one function per operation.

Every function takes a deadline of the monotonic clock and raises HostFault when the box does not
answer as it should; such a box must be thrown away.
"""

from __future__ import annotations

import contextlib
import os
import socket
from dataclasses import dataclass
from typing import Any

from sandbox.box import wire
from sandbox.errors import BundleRefused, HostFault
from sandbox.launcher import Box

_CHUNK = 1 << 18
_SO_PASSRIGHTS = 83
"""Of asm-generic/socket.h: 0 refuses descriptors, whose closing could hold up the receiver."""


@dataclass(frozen=True)
class Ended:
    """The supervisor's report of a match's end; the log is [step, stdout, stderr] per step."""

    exit_code: int | None
    signal: int | None
    out_of_memory: bool
    log: list[tuple[int, str, str]]
    clean: bool


def set_up(box: Box, deadline: float) -> None:
    """Tell the box what it is; returns when its zygote has imported the profile's libraries."""
    try:
        _ask(box, dict(box.setup), "ready", deadline)
    except HostFault as fault:
        complaint = box.complaint().strip()
        raise HostFault(f"{fault}: {complaint}" if complaint else str(fault)) from None


def bind(box: Box, bundle: int, size: int, deadline: float) -> int:
    """Give the box its submission for life; returns how many bytes that occupies in it.

    BundleRefused when the archive breaks a rule.
    """
    with _trouble("bind"):
        wire.send(box.control, {"op": "bind", "size": size}, deadline=deadline)
        offset = 0
        while offset < size:
            chunk = os.pread(bundle, min(_CHUNK, size - offset), offset)
            if not chunk:
                raise HostFault("the bundle became shorter while it was read")
            box.control.sendall(chunk)
            offset += len(chunk)
        answer, _ = wire.receive(box.control, deadline=deadline)
    if answer.get("op") == "refused":
        entry = answer.get("entry")
        reason = str(answer.get("reason"))[:500]
        raise BundleRefused(reason, None if entry is None else str(entry)[:200])
    _expect(answer, "bound")
    return int(answer["bytes"])


def start(box: Box, deadline: float) -> socket.socket:
    """A fresh hardened child; the returned socket is the worker's end of its connection."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with contextlib.suppress(OSError):  # kernels before 6.16; the box's filter forbids it too
        ours.setsockopt(socket.SOL_SOCKET, _SO_PASSRIGHTS, 0)
    try:
        with theirs, _trouble("start"):
            wire.send(box.control, {"op": "start"}, (theirs.fileno(),), deadline=deadline)
            answer, _ = wire.receive(box.control, deadline=deadline)
        _expect(answer, "started")
    except BaseException:
        ours.close()
        raise
    return ours


def end(box: Box, closed: bool, deadline: float) -> Ended:
    """Kill, sweep and prove; ``closed`` says that the child seemed to have ended by itself."""
    answer = _ask(box, {"op": "end", "closed": closed}, "ended", deadline)
    try:
        return Ended(
            exit_code=_number(answer["exit_code"]),
            signal=_number(answer["signal"]),
            out_of_memory=answer["out_of_memory"] is True,
            log=[(int(step), str(out), str(err)) for step, out, err in answer["log"]],
            clean=answer["clean"] is True,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise HostFault(f"the box's report is not understood: {error!r}") from None


def _ask(box: Box, message: dict[str, Any], expected: str, deadline: float) -> dict[str, Any]:
    with _trouble(str(message["op"])):
        wire.send(box.control, message, deadline=deadline)
        answer, _ = wire.receive(box.control, deadline=deadline)
    _expect(answer, expected)
    return answer


def _expect(answer: dict[str, Any], expected: str) -> None:
    if answer.get("op") == expected:
        return
    reason = answer.get("reason") if answer.get("op") == "fault" else f"unexpected {answer!r:.200}"
    raise HostFault(f"the box answers: {reason}")


def _number(value: Any) -> int | None:
    return None if value is None else int(value)


class _trouble:
    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, wire.WireError | OSError):
            raise HostFault(f"the box failed at {self._what}: {error}") from None
