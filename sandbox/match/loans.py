"""Borrows the seats of one match, and gives them back.

The node daemon lends boxes; the remote daemon lends callers of remote agents. A match may have
both. :func:`borrow_seats` borrows for all seats of a match and gives them back together.

One call to :func:`borrow_all` sends the bundles' descriptors to the node daemon. For each seat the
node returns the agent's connected socket and the descriptors of its control group. From then on
referee and agents talk directly. A loan ends with its connection, so a killed worker gives
everything back.

A GPU's work is charged by wall time. So while a seat is asked, no other seat may use its GPU, also
not one of another match. The node has a nameless file for each device. Each loan opens this file
anew and locks it. The kernel releases the lock when the last process closes what the loan opened.
Source: open file description locks in fcntl(2).
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import struct
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Any, Protocol

from sandbox.box import wire
from sandbox.errors import AgentAway, BoxLate, BundleRefused, HostFault, SeatRefused
from sandbox.match.cpu_meter import CpuMeter
from sandbox.match.questions import StopReached
from sandbox.profiles import REMOTE

TRY_SECONDS = 0.001
_FLOCK = struct.Struct("hhqqi")
_QUEUE, _DEVICE = 0, 1
"""Bytes of the file that a loan locks. The loan with the lock of the queue gets the device next.
So a match that asks again at once does not overtake another one.
"""


class GpuTurns:
    """The files of a node's shared GPUs. Thread-safe."""

    def __init__(self) -> None:
        self._files: dict[str, int] = {}
        self._lock = threading.Lock()

    def open(self, name: str) -> int:
        """Opens the device's file anew. Returns a descriptor, which the caller closes."""
        with self._lock:
            if name not in self._files:
                self._files[name] = os.memfd_create("gpu-turn", os.MFD_CLOEXEC)
            return os.open(f"/proc/self/fd/{self._files[name]}", os.O_RDWR | os.O_CLOEXEC)


class GpuTurn:
    """The lock of one loan on its GPU. Owns the descriptor of the GPU's file."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @contextlib.contextmanager
    def held(self, stop_at: float) -> Iterator[None]:
        """Wait for the GPU and hold it. Raises StopReached if ``time.monotonic`` passes
        ``stop_at`` first.
        """
        self._lock(_QUEUE, stop_at)
        try:
            self._lock(_DEVICE, stop_at)
        finally:
            self._set(_QUEUE, fcntl.F_UNLCK)
        try:
            yield
        finally:
            if self._descriptor >= 0:  # closed already if the seat failed in its turn
                self._set(_DEVICE, fcntl.F_UNLCK)

    def close(self) -> None:
        """Close the file, which gives up its turn. Safe to repeat."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _lock(self, byte: int, stop_at: float) -> None:
        while True:
            # Polls, because a waiting fcntl lock has no time-out.
            with contextlib.suppress(BlockingIOError):
                self._set(byte, fcntl.F_WRLCK)
                return
            if time.monotonic() > stop_at:
                raise StopReached
            time.sleep(TRY_SECONDS)

    def _set(self, byte: int, kind: int) -> None:
        lock = _FLOCK.pack(kind, os.SEEK_SET, byte, 1, 0)
        fcntl.fcntl(self._descriptor, fcntl.F_OFD_SETLK, lock)


CROWD_SECONDS = 0.01
"""Pause before the next try to connect when the node's queue is full."""


def connect_to_node(node_socket: Path, deadline: float) -> socket.socket:
    """A connection to the node. Raises HostFault if none answers in time."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    while True:
        try:
            connection.settimeout(max(0.01, deadline - time.monotonic()))
            connection.connect(str(node_socket))
        except OSError as error:
            # A unix socket whose queue is full refuses at once, so wait here.
            if isinstance(error, BlockingIOError) and time.monotonic() < deadline:
                time.sleep(CROWD_SECONDS)
                continue
            connection.close()
            raise HostFault(f"no node answers at {node_socket}: {error}") from None
        return connection


@contextlib.contextmanager
def translate_node_errors(what: str) -> Iterator[None]:
    """Raise HostFault in place of an error of the connection."""
    try:
        yield
    except (wire.WireError, OSError) as error:
        raise HostFault(f"{what}: {error}") from None


def raise_fault(answer: dict[str, Any]) -> None:
    """Raise the fault that the node reports in its answer, if it reports one."""
    if answer.get("op") == "fault":
        kind = BoxLate if answer.get("late") is True else HostFault
        raise kind(str(answer.get("reason")))


END_SECONDS = 45.0
"""How long ending a loan may take before the node counts as gone. The node needs less, even for a
box that an agent blocks and for finding out why a box was lost.
"""


@dataclass(frozen=True)
class MoveLog:
    """What the agent printed in one move: 0 is before the first act, k is the k-th act."""

    step: int
    stdout: str
    stderr: str


@dataclass(frozen=True)
class Ending:
    """How the agent's process ended.

    ``exit_code`` and ``signal`` are None if we ended a running process. ``clean`` is False if the
    box may hold something left over; then the box is thrown away.
    """

    exit_code: int | None
    signal: int | None
    out_of_memory: bool
    log: tuple[MoveLog, ...]
    clean: bool
    exceeded_gpu_mb: int = 0
    """The agent's share of a GPU's memory in MB, if it used more. Else 0."""


class Conversation:
    """The connection to the node for the loans of one match, and how each loan ended."""

    def __init__(self, connection: socket.socket, node: str) -> None:
        self.node = node
        self.endings: dict[int, Ending | HostFault] = {}
        self._connection = connection
        self._open: set[int] = set()
        self._lock = threading.Lock()

    def opened(self, seat: int) -> None:
        """Count one more loan on this connection."""
        self._open.add(seat)

    def end(self, agents: Mapping[int, socket.socket]) -> None:
        """End the seats that have not ended yet, by number with their sockets."""
        with self._lock:
            seats = sorted(self._open & agents.keys())
            if not seats:
                return
            self._open -= set(seats)
            deadline = time.monotonic() + END_SECONDS
            # A closed agent has ended; the supervisor then waits for the exit status.
            gone = [seat for seat in seats if wire.has_closed(agents[seat])]
            try:
                with translate_node_errors("ending a loan"):
                    message = {"op": "end", "seats": seats, "closed": gone}
                    wire.send_frame(self._connection, message, deadline=deadline)
                    for _ in seats:
                        answer, _ = wire.receive_frame(self._connection, deadline=deadline)
                        self.endings[_seat_from_answer(answer, seats)] = _parse_ending(answer)
            except HostFault as fault:
                # The order of the answers is lost, so no other seat gets its ending.
                self._connection.close()
                for seat in [*seats, *self._open]:
                    self.endings.setdefault(seat, fault)
                self._open.clear()
            if not self._open:
                self._connection.close()


def _seat_from_answer(answer: dict[str, Any], ending_seats: Sequence[int]) -> int:
    seat = answer.get("seat")
    if type(seat) is not int or seat not in ending_seats:
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
            exceeded_gpu_mb=int(answer.get("exceeded_gpu_mb", 0)),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise HostFault(f"the node's answer is not understood: {error!r}") from None


ANSWER_SECONDS = 0.5
_MOST_FDS = 128


class HasFileno(Protocol):
    """An open file. The caller keeps it open until ``borrow`` has returned."""

    def fileno(self) -> int: ...


@dataclass(frozen=True)
class SeatRequest:
    """What one seat of one match needs."""

    profile: str
    bundle: Path | HasFileno
    memory_mb: int


@dataclass(frozen=True)
class NodeHello:
    """What a node says of itself. ``lacks`` are sentences for the operator."""

    node: str
    launcher: str
    profiles: tuple[str, ...]
    image_digests: Mapping[str, str]
    lacks: tuple[str, ...]
    gpus: int = 0
    """How many matches can have a GPU or a slice at a time."""


class Loan:
    """One agent's process for one match. A context manager that gives it back."""

    is_remote = False
    """Whether the agent runs on its owner's machine."""
    gpu_turn: GpuTurn | None = None
    """The turn of the GPU that the seats of the match share. None if the box shares none."""

    def __init__(
        self,
        conversation: Conversation,
        seat: int,
        agent: socket.socket,
        meter: CpuMeter,
        image_digest: str,
        memory_mb: int,
        *,
        is_remote: bool = False,
        gpu_turn: GpuTurn | None = None,
    ) -> None:
        self.socket = agent
        """Socket to the process: non-blocking, one packet per frame."""
        self.meter = meter
        """Reads what the process used and can stop it."""
        self.image_digest = image_digest
        self.memory_mb = memory_mb
        self.is_remote = is_remote
        self.gpu_turn = gpu_turn
        self._conversation = conversation
        self._seat = seat

    @property
    def node(self) -> str:
        return self._conversation.node

    def end(self) -> Ending:
        """Kill the process, clean its box and return how it ended. Safe to repeat.

        Raises HostFault if the node is unreachable or takes the blame. Then nothing seen on the
        socket counts against the agent.
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


def end_all(loans: Iterable[Loan]) -> None:
    """End these loans in parallel. Each loan's ``end`` returns the result."""
    together: dict[Conversation, dict[int, Loan]] = {}
    for loan in loans:
        together.setdefault(loan._conversation, {})[loan._seat] = loan
    for conversation, seats in together.items():
        conversation.end({seat: loan.socket for seat, loan in seats.items()})
        for loan in seats.values():
            loan.socket.close()
            loan.meter.close()
            if loan.gpu_turn is not None:
                loan.gpu_turn.close()


def borrow(node_socket: Path, request: SeatRequest, timeout_seconds: float) -> Loan:
    """Borrow for a match of one seat. Raises SeatRefused if nobody can play it."""
    (lent,) = borrow_all(node_socket, [request], timeout_seconds)
    if isinstance(lent, SeatRefused):
        raise lent
    return lent


def borrow_all(
    node_socket: Path, requests: Sequence[SeatRequest], timeout_seconds: float
) -> tuple[Loan | SeatRefused, ...]:
    """Borrow a process for each request; it is hardened and waits for ``start``.

    Returns a refusal instead of a loan if an archive broke a rule or a remote agent does not
    answer. Raises BoxLate if a box was not ready in time, HostFault for other trouble of the node.
    Then nothing is lent. The caller must end every loan; a loan also ends with the caller's
    process.
    """
    deadline = time.monotonic() + timeout_seconds
    with contextlib.ExitStack() as files, contextlib.ExitStack() as undo:
        bundles = [files.enter_context(_open_bundle(request.bundle)) for request in requests]
        connection = undo.enter_context(connect_to_node(node_socket, deadline))
        with translate_node_errors("borrowing boxes"):
            seats = [{"profile": one.profile, "memory_mb": one.memory_mb} for one in requests]
            # A little less than our own time-out, so that the node's reason reaches us.
            patience = max(0.1, timeout_seconds - ANSWER_SECONDS)
            message = {"op": "borrow", "seats": seats, "timeout_seconds": patience}
            wire.send_frame(connection, message, tuple(bundles), deadline=deadline)
            answer, fds = wire.receive_frame(connection, max_fds=_MOST_FDS, deadline=deadline)
        try:
            raise_fault(answer)
            lent = _loans_from_answer(
                Conversation(connection, str(answer["node"])), answer, requests, fds
            )
        except (KeyError, TypeError, IndexError, ValueError) as error:
            raise HostFault(f"the node's answer is not understood: {error!r}") from None
        finally:
            wire.close_all(fds)
        if any(isinstance(one, Loan) for one in lent):
            undo.pop_all()
        return lent


def _loans_from_answer(
    conversation: Conversation,
    answer: dict[str, Any],
    requests: Sequence[SeatRequest],
    fds: list[int],
) -> tuple[Loan | SeatRefused, ...]:
    """Read the loans and refusals of an answer. Takes their descriptors out of ``fds``."""
    lent: list[Loan | SeatRefused] = []
    for number, (seat, request) in enumerate(zip(answer["seats"], requests, strict=True)):
        if seat["op"] == "refused":
            entry = seat.get("entry")
            reason = str(seat["reason"])
            if seat.get("away") is True:
                lent.append(AgentAway(reason))
            else:
                lent.append(BundleRefused(reason, None if entry is None else str(entry)))
            continue
        names = list(seat["fds"])
        named = dict(zip(names, fds[: len(names)], strict=True))
        del fds[: len(names)]
        agent = socket.socket(fileno=named.pop("agent"))
        agent.setblocking(False)
        turn = GpuTurn(named.pop("gpu_turn")) if "gpu_turn" in named else None
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
                gpu_turn=turn,
            )
        )
    return tuple(lent)


def node_hello(
    node_socket: Path, timeout_seconds: float = 5.0, *, started: int | None = None
) -> NodeHello:
    """Ask the node at this socket what it is and lacks. Raises HostFault if none answers.

    With ``started``, the pid of a node's process, only this process or its child may answer: a
    predecessor that is still stopping answers at the same socket.
    """
    deadline = time.monotonic() + timeout_seconds
    with (
        translate_node_errors("greeting the node"),
        connect_to_node(node_socket, deadline) as connection,
    ):
        if started is not None and started not in _listening_process(connection):
            raise HostFault(f"another node still answers at {node_socket}")
        wire.send_frame(connection, {"op": "hello"}, deadline=deadline)
        answer, _ = wire.receive_frame(connection, deadline=deadline)
    raise_fault(answer)
    return NodeHello(
        node=str(answer["node"]),
        launcher=str(answer["launcher"]),
        profiles=tuple(answer["profiles"]),
        image_digests=dict(answer["image_digests"]),
        lacks=tuple(answer["lacks"]),
        gpus=int(answer.get("gpus", 0)),
    )


def _listening_process(connection: socket.socket) -> tuple[int, int]:
    """Pid of the process that listens at the other end, and pid of its parent."""
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


@contextlib.contextmanager
def borrow_seats(
    node_socket: Path,
    requests: Sequence[SeatRequest],
    timeout_seconds: float,
    remote_socket: Path | None = None,
) -> Iterator[tuple[Loan | SeatRefused, ...]]:
    """Borrow a loan for each request, or return the refusal of its bundle. All loans end on exit.

    Raises HostFault if a loan could not be had, or if a remote agent has no ``remote_socket``.
    """
    deadline = monotonic() + timeout_seconds
    remote = {n: one for n, one in enumerate(requests) if one.profile == REMOTE}
    boxes = {n: one for n, one in enumerate(requests) if n not in remote}
    if remote and remote_socket is None:
        raise HostFault(
            "this worker plays no remote agents; set PECK_REMOTE_SOCKET to the daemon's socket"
        )
    lent: dict[int, Loan | SeatRefused] = {}
    try:
        # Callers first: they may take seconds, and no box should wait for them.
        for socket, wanted in ((remote_socket, remote), (node_socket, boxes)):
            if wanted and socket is not None:
                lent.update(_borrow_from(socket, wanted, max(0.1, deadline - monotonic())))
        yield tuple(lent[number] for number in range(len(requests)))
    finally:
        end_all([loan for loan in lent.values() if isinstance(loan, Loan)])


def _borrow_from(
    socket: Path, wanted: Mapping[int, SeatRequest], timeout_seconds: float
) -> Mapping[int, Loan | SeatRefused]:
    return dict(
        zip(wanted, borrow_all(socket, list(wanted.values()), timeout_seconds), strict=True)
    )
