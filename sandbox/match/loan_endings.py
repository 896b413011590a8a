"""Ends the loans of one match at the node and reads how each agent's process ended."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sandbox.box import wire
from sandbox.errors import HostFault
from sandbox.match.node_connection import translate_node_errors

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
            asked = sorted(self._open & agents.keys())
            if not asked:
                return
            self._open -= set(asked)
            deadline = time.monotonic() + END_SECONDS
            gone = [seat for seat in asked if _has_closed(agents[seat])]
            try:
                with translate_node_errors("ending a loan"):
                    message = {"op": "end", "seats": asked, "closed": gone}
                    wire.send_frame(self._connection, message, deadline=deadline)
                    for _ in asked:
                        answer, _ = wire.receive_frame(self._connection, deadline=deadline)
                        self.endings[_seat_from_answer(answer, asked)] = _parse_ending(answer)
            except HostFault as fault:
                # The order of the answers is lost, so no other seat gets its ending.
                self._connection.close()
                for seat in [*asked, *self._open]:
                    self.endings.setdefault(seat, fault)
                self._open.clear()
            if not self._open:
                self._connection.close()


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
            exceeded_gpu_mb=int(answer.get("exceeded_gpu_mb", 0)),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise HostFault(f"the node's answer is not understood: {error!r}") from None


def _has_closed(agent: socket.socket) -> bool:
    """Whether the agent's side is closed. The supervisor then waits for the exit status."""
    try:
        agent.setblocking(False)
        return agent.recv(1, socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True
