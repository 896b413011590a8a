"""A loan without a process: a thread answers every message except the end message."""

from __future__ import annotations

import json
import socket
import threading

from sandbox.match.cpu_meter import CpuMeter
from sandbox.match.loans import Ending, Loan


class IgnoresEndMessage(Loan):
    """An agent that subscribes to the end message and does not answer it."""

    def __init__(self, meter: CpuMeter | None = None) -> None:
        self.socket, self._agent = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.meter, self.memory_mb = meter or CpuMeter({}, 1.0, False), 0
        self.heard: list[str] = []
        self._thread = threading.Thread(target=self._answer, daemon=True)
        self._thread.start()

    def end(self) -> Ending:
        self.socket.close()
        self._thread.join()
        self._agent.close()
        return Ending(exit_code=None, signal=None, out_of_memory=False, log=(), clean=True)

    def _answer(self) -> None:
        while packet := self._agent.recv(1 << 17):
            told = json.loads(packet)
            self.heard.append(told["k"])
            if told["k"] == "start":
                self._agent.send(b'{"k":"ready","contract":"http"}')
            elif told["k"] == "act":
                self._agent.send(b'{"k":"reply","n":%d,"action":"NORTH"}' % told["n"])
