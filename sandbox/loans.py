"""Boxes on loan: how a worker, or ``peck run``, gets an agent's process to play against.

One call to :func:`borrow` gives one seat of one match: the bundle's descriptor goes to the node
daemon, the agent's connected socket comes back, and from then on nothing stands between referee
and agent. A loan dies with its connection: a worker that is killed gives everything back.
"""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

from sandbox.box import wire
from sandbox.errors import BundleRefused, HostFault, SandboxError

__all__ = [
    "BundleRefused",
    "Ending",
    "HostFault",
    "Loan",
    "MoveLog",
    "NodeHello",
    "SandboxError",
    "SeatRequest",
    "borrow",
    "hello",
]

END_SECONDS = 20.0
"""How long a loan's end may take before the node counts as gone."""


class HasFileno(Protocol):
    """An open file; the caller keeps it open until ``borrow`` has returned."""

    def fileno(self) -> int: ...


@dataclass(frozen=True)
class SeatRequest:
    """What one seat of one match needs. ``label`` is opaque, for the node's log only."""

    profile: str
    bundle: Path | HasFileno
    memory_mb: int
    label: str


@dataclass(frozen=True)
class MoveLog:
    """What the agent printed in one move: 0 is before the first act, k is the k-th act."""

    step: int
    stdout: str
    stderr: str


@dataclass(frozen=True)
class Ending:
    """How the agent's process stood when the loan ended.

    ``exit_code`` and ``signal`` are None when the process still ran and we ended it. ``clean`` is
    False when nobody could prove that nothing was left; its box is then thrown away.
    """

    exit_code: int | None
    signal: int | None
    out_of_memory: bool
    log: tuple[MoveLog, ...]
    clean: bool


@dataclass(frozen=True)
class NodeHello:
    """What a node says of itself; ``lacks`` are sentences for the operator."""

    node: str
    launcher: str
    profiles: tuple[str, ...]
    image_digests: Mapping[str, str]
    lacks: tuple[str, ...]
    gpus: int = 0
    """GPUs, or slices, that it gives to boxes, one each."""


class Loan:
    """One agent's process for one match; a context manager that gives it back."""

    def __init__(
        self,
        connection: socket.socket,
        agent: socket.socket,
        node: str,
        image_digest: str,
        memory_mb: int,
    ) -> None:
        self.memory_mb = memory_mb
        self._connection = connection
        self.socket = agent
        self.node = node
        self.image_digest = image_digest
        self._ending: Ending | None = None
        self._fault: HostFault | None = None

    def end(self) -> Ending:
        """Kill the process, sweep its box, and say what is left to know. Safe to repeat.

        Raises HostFault when the node could not be reached or says the fault was its own: then
        nothing seen on the socket is the agent's doing.
        """
        if self._fault is not None:
            raise self._fault
        if self._ending is None:
            try:
                self._ending = self._finish()
            except HostFault as fault:
                self._fault = fault
                raise
            finally:
                self.socket.close()
                self._connection.close()
        return self._ending

    def _finish(self) -> Ending:
        deadline = time.monotonic() + END_SECONDS
        with _node_trouble("ending a loan"):
            wire.send(
                self._connection, {"op": "end", "closed": _closed(self.socket)}, deadline=deadline
            )
            answer, _ = wire.receive(self._connection, deadline=deadline)
        _raise_refusal(answer)
        try:
            return Ending(
                exit_code=answer["exit_code"],
                signal=answer["signal"],
                out_of_memory=bool(answer["out_of_memory"]),
                log=tuple(MoveLog(int(s), str(out), str(err)) for s, out, err in answer["log"]),
                clean=bool(answer["clean"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise HostFault(f"the node's answer is not understood: {error!r}") from None

    def __enter__(self) -> Loan:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with contextlib.suppress(HostFault):
            self.end()


def borrow(node_socket: Path, request: SeatRequest, timeout_seconds: float) -> Loan:
    """A process running this bundle's harness, hardened and waiting for ``start``.

    Raises BundleRefused when the archive broke a rule, HostFault when no box could be had in time.
    """
    deadline = time.monotonic() + timeout_seconds
    with _opened(request.bundle) as bundle, contextlib.ExitStack() as undo:
        connection = undo.enter_context(_connect(node_socket, deadline))
        with _node_trouble("borrowing a box"):
            wire.send(
                connection,
                {
                    "op": "borrow",
                    "profile": request.profile,
                    "memory_mb": request.memory_mb,
                    "label": request.label,
                    "timeout_seconds": timeout_seconds,
                },
                (bundle,),
                deadline=deadline,
            )
            answer, fds = wire.receive(connection, max_fds=1, deadline=deadline)
        try:
            _raise_refusal(answer)
            if len(fds) != 1:
                raise HostFault("the node lent a box without its socket")
            agent = socket.socket(fileno=fds.pop())
        finally:
            wire.close_all(fds)
        agent.setblocking(False)
        node, image_digest = str(answer["node"]), str(answer["image_digest"])
        loan = Loan(connection, agent, node, image_digest, request.memory_mb)
        undo.pop_all()
        return loan


def hello(node_socket: Path, timeout_seconds: float = 5.0) -> NodeHello:
    """What the node at this socket is and lacks; HostFault when none answers."""
    deadline = time.monotonic() + timeout_seconds
    with _node_trouble("greeting the node"), _connect(node_socket, deadline) as connection:
        wire.send(connection, {"op": "hello"}, deadline=deadline)
        answer, _ = wire.receive(connection, deadline=deadline)
    _raise_refusal(answer)
    return NodeHello(
        node=str(answer["node"]),
        launcher=str(answer["launcher"]),
        profiles=tuple(answer["profiles"]),
        image_digests=dict(answer["image_digests"]),
        lacks=tuple(answer["lacks"]),
        gpus=int(answer.get("gpus", 0)),
    )


@contextlib.contextmanager
def _opened(bundle: Path | HasFileno) -> Iterator[int]:
    if not isinstance(bundle, Path):
        yield bundle.fileno()
        return
    try:
        descriptor = os.open(bundle, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise HostFault(f"the bundle {bundle} cannot be opened: {error.strerror}") from None
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _connect(node_socket: Path, deadline: float) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(max(0.01, deadline - time.monotonic()))
        connection.connect(str(node_socket))
    except OSError as error:
        connection.close()
        raise HostFault(f"no node answers at {node_socket}: {error}") from None
    return connection


@contextlib.contextmanager
def _node_trouble(what: str) -> Iterator[None]:
    try:
        yield
    except (wire.WireError, OSError) as error:
        raise HostFault(f"{what}: {error}") from None


def _raise_refusal(answer: dict[str, Any]) -> None:
    op = answer.get("op")
    if op == "refused":
        entry = answer.get("entry")
        raise BundleRefused(str(answer.get("reason")), None if entry is None else str(entry))
    if op == "fault":
        raise HostFault(str(answer.get("reason")))


def _closed(agent: socket.socket) -> bool:
    """Whether the agent's side has gone; the supervisor then waits a moment for its exit status."""
    try:
        agent.setblocking(False)
        return agent.recv(1, socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True
