"""Boxes on loan: how a worker, or ``peck run``, gets agents' processes to play against.

One call to :func:`borrow_all` gives all seats of one match: the bundles' descriptors go to the node
daemon, each agent's connected socket comes back with the descriptors of its control group, and from
then on nothing stands between referee and agents. Loans die with their connection: a worker that
is killed gives everything back.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

from sandbox.box import wire
from sandbox.errors import AgentAway, BoxLate, BundleRefused, HostFault, SandboxError
from sandbox.match.cpu_meter import CpuMeter

__all__ = [
    "AgentAway",
    "BundleRefused",
    "Ending",
    "HostFault",
    "Loan",
    "MoveLog",
    "NodeHello",
    "SandboxError",
    "SeatRequest",
    "borrow",
    "borrow_all",
    "end_all",
    "node_hello",
]

END_SECONDS = 45.0
"""How long a loan's end may take before the node counts as gone: more than the node gives to a box
that an agent holds up, and to the question whose fault it was that a box was lost."""
ANSWER_SECONDS = 0.5
CROWD_SECONDS = 0.01
"""Between two tries to come in while others stand before the node's door."""
_MOST_FDS = 128


class HasFileno(Protocol):
    """An open file; the caller keeps it open until ``borrow`` has returned."""

    def fileno(self) -> int: ...


@dataclass(frozen=True)
class SeatRequest:
    """What one seat of one match needs."""

    profile: str
    bundle: Path | HasFileno
    memory_mb: int


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

    is_remote = False
    """Whether its agent computes on none of our cores: a remote one."""

    def __init__(
        self,
        conversation: _Conversation,
        seat: int,
        agent: socket.socket,
        meter: CpuMeter,
        image_digest: str,
        memory_mb: int,
        *,
        is_remote: bool = False,
    ) -> None:
        self.socket = agent
        """Connected to the process, non-blocking, one packet a frame."""
        self.meter = meter
        """What the process used of its cores, and the power to stop it."""
        self.image_digest = image_digest
        self.memory_mb = memory_mb
        self.is_remote = is_remote
        self._conversation = conversation
        self._seat = seat

    @property
    def node(self) -> str:
        """The name of the node that lent it."""
        return self._conversation.node

    def end(self) -> Ending:
        """Kill the process, sweep its box, and say what is left to know. Safe to repeat.

        Raises HostFault when the node could not be reached or says the fault was its own: then
        nothing seen on the socket is the agent's doing.
        """
        end_all([self])
        ending = self._conversation.endings[self._seat]
        if isinstance(ending, HostFault):
            raise ending
        return ending

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


class _Conversation:
    """The connection to the node behind the loans of one match, and how each loan ended."""

    def __init__(self, connection: socket.socket, node: str) -> None:
        self.node = node
        self.endings: dict[int, Ending | HostFault] = {}
        self._connection = connection
        self._open: set[int] = set()
        self._lock = threading.Lock()

    def opened(self, seat: int) -> None:
        """One more loan hangs on this connection."""
        self._open.add(seat)

    def end(self, agents: Mapping[int, socket.socket]) -> None:
        """End these seats, by number with their sockets, those that have not ended yet."""
        with self._lock:
            asked = sorted(self._open & agents.keys())
            if not asked:
                return
            self._open -= set(asked)
            deadline = time.monotonic() + END_SECONDS
            gone = [seat for seat in asked if _has_closed(agents[seat])]
            try:
                with _translate_node_errors("ending a loan"):
                    message = {"op": "end", "seats": asked, "closed": gone}
                    wire.send_frame(self._connection, message, deadline=deadline)
                    for _ in asked:
                        answer, _ = wire.receive_frame(self._connection, deadline=deadline)
                        self.endings[_seat_from_answer(answer, asked)] = _parse_ending(answer)
            except HostFault as fault:
                # Whoever has no ending now will not get one: the answers' order is lost.
                self._connection.close()
                for seat in [*asked, *self._open]:
                    self.endings.setdefault(seat, fault)
                self._open.clear()
            if not self._open:
                self._connection.close()


def end_all(loans: Iterable[Loan]) -> None:
    """End these loans side by side; what came of each is told by its ``end``."""
    together: dict[_Conversation, dict[int, Loan]] = {}
    for loan in loans:
        together.setdefault(loan._conversation, {})[loan._seat] = loan
    for conversation, seats in together.items():
        conversation.end({seat: loan.socket for seat, loan in seats.items()})
        for loan in seats.values():
            loan.socket.close()
            loan.meter.close()


def borrow(node_socket: Path, request: SeatRequest, timeout_seconds: float) -> Loan:
    """A loan for a match of one seat; BundleRefused when its archive broke a rule."""
    (lent,) = borrow_all(node_socket, [request], timeout_seconds)
    if isinstance(lent, BundleRefused):
        raise lent
    return lent


def borrow_all(
    node_socket: Path, requests: Sequence[SeatRequest], timeout_seconds: float
) -> tuple[Loan | BundleRefused, ...]:
    """For each request a process running its bundle's harness, hardened and waiting for ``start``,
    or the refusal of an archive that broke a rule, or of a remote agent that does not answer.

    Raises BoxLate when a box could not be had in time, HostFault for other trouble of the node;
    nothing is lent then. Every loan must be
    ended, or the process that borrowed must end.
    """
    deadline = time.monotonic() + timeout_seconds
    with contextlib.ExitStack() as files, contextlib.ExitStack() as undo:
        bundles = [files.enter_context(_open_bundle(request.bundle)) for request in requests]
        connection = undo.enter_context(_connect_to_node(node_socket, deadline))
        with _translate_node_errors("borrowing boxes"):
            seats = [{"profile": one.profile, "memory_mb": one.memory_mb} for one in requests]
            # A little less than we wait ourselves, so that the node's own reason reaches us.
            patience = max(0.1, timeout_seconds - ANSWER_SECONDS)
            message = {"op": "borrow", "seats": seats, "timeout_seconds": patience}
            wire.send_frame(connection, message, tuple(bundles), deadline=deadline)
            answer, fds = wire.receive_frame(connection, max_fds=_MOST_FDS, deadline=deadline)
        try:
            _raise_fault(answer)
            lent = _loans_from_answer(
                _Conversation(connection, str(answer["node"])), answer, requests, fds
            )
        except (KeyError, TypeError, IndexError, ValueError) as error:
            raise HostFault(f"the node's answer is not understood: {error!r}") from None
        finally:
            wire.close_all(fds)
        if any(isinstance(one, Loan) for one in lent):
            undo.pop_all()
        return lent


def _loans_from_answer(
    conversation: _Conversation,
    answer: dict[str, Any],
    requests: Sequence[SeatRequest],
    fds: list[int],
) -> tuple[Loan | BundleRefused, ...]:
    """The loans and refusals of an answer; takes the descriptors out of ``fds`` as it goes."""
    lent: list[Loan | BundleRefused] = []
    for number, (seat, request) in enumerate(zip(answer["seats"], requests, strict=True)):
        if seat["op"] == "refused":
            entry = seat.get("entry")
            reason = str(seat["reason"])
            kind = AgentAway if seat.get("away") is True else BundleRefused
            lent.append(kind(reason, None if entry is None else str(entry)))
            continue
        names = list(seat["fds"])
        named = dict(zip(names, fds[: len(names)], strict=True))
        del fds[: len(names)]
        agent = socket.socket(fileno=named.pop("agent"))
        agent.setblocking(False)
        meter = CpuMeter(named, float(seat["cpus"]), seat.get("by_wall") is True)
        digest = str(seat["image_digest"])
        conversation.opened(number)
        lent.append(
            Loan(
                conversation,
                number,
                agent,
                meter,
                digest,
                request.memory_mb,
                is_remote=seat.get("elsewhere") is True,
            )
        )
    return tuple(lent)


def node_hello(
    node_socket: Path, timeout_seconds: float = 5.0, *, started: int | None = None
) -> NodeHello:
    """What the node at this socket is and lacks; HostFault when none answers.

    With ``started``, the pid of a node's process, only that process or its child may answer: a
    predecessor that is still stopping answers at the same socket.
    """
    deadline = time.monotonic() + timeout_seconds
    with (
        _translate_node_errors("greeting the node"),
        _connect_to_node(node_socket, deadline) as connection,
    ):
        if started is not None and started not in _listening_process(connection):
            raise HostFault(f"another node still answers at {node_socket}")
        wire.send_frame(connection, {"op": "hello"}, deadline=deadline)
        answer, _ = wire.receive_frame(connection, deadline=deadline)
    _raise_fault(answer)
    return NodeHello(
        node=str(answer["node"]),
        launcher=str(answer["launcher"]),
        profiles=tuple(answer["profiles"]),
        image_digests=dict(answer["image_digests"]),
        lacks=tuple(answer["lacks"]),
        gpus=int(answer.get("gpus", 0)),
    )


def _listening_process(connection: socket.socket) -> tuple[int, int]:
    """Pid of the process that listens at the other end, and of its parent."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    (pid, _, _) = struct.unpack("3i", credentials)
    stat = Path(f"/proc/{pid}/stat").read_text()
    return pid, int(stat.rpartition(")")[2].split()[1])


@contextlib.contextmanager
def _open_bundle(bundle: Path | HasFileno) -> Iterator[int]:
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


def _connect_to_node(node_socket: Path, deadline: float) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    while True:
        try:
            connection.settimeout(max(0.01, deadline - time.monotonic()))
            connection.connect(str(node_socket))
        except OSError as error:
            # A unix socket does not wait where many stand before it: it says so at once.
            if isinstance(error, BlockingIOError) and time.monotonic() < deadline:
                time.sleep(CROWD_SECONDS)
                continue
            connection.close()
            raise HostFault(f"no node answers at {node_socket}: {error}") from None
        return connection


@contextlib.contextmanager
def _translate_node_errors(what: str) -> Iterator[None]:
    try:
        yield
    except (wire.WireError, OSError) as error:
        raise HostFault(f"{what}: {error}") from None


def _raise_fault(answer: dict[str, Any]) -> None:
    if answer.get("op") == "fault":
        kind = BoxLate if answer.get("late") is True else HostFault
        raise kind(str(answer.get("reason")))


def _seat_from_answer(answer: dict[str, Any], asked: Sequence[int]) -> int:
    seat = answer.get("seat")
    if type(seat) is not int or seat not in asked:
        raise HostFault(f"the node answers for seat {seat!r}, which was not asked about")
    return seat


def _parse_ending(answer: dict[str, Any]) -> Ending | HostFault:
    if answer.get("op") == "fault":
        return HostFault(str(answer.get("reason")))
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


def _has_closed(agent: socket.socket) -> bool:
    """Whether the agent's side has gone; the supervisor then waits a moment for its exit status."""
    try:
        agent.setblocking(False)
        return agent.recv(1, socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True
