"""What one agent printed, cut into moves and bounded, read by the supervisor in the box.

Both streams are pipes that carry the agent's bytes and, between them, the harness's marks: a
per-match secret, the step's number, a NUL. An agent that finds the secret can forge the borders of
its own log and nothing else. Memory is bounded whatever is written: per move and stream
``MOVE_CHARACTERS``, per match ``MATCH_BYTES``; the rest is read and thrown away.
"""

from __future__ import annotations

import os

MOVE_CHARACTERS = 10_000
MATCH_BYTES = 1 << 20
_CHUNK = 1 << 16
_MOST_READS = 64
"""At a time: four megabytes of whoever writes in large pieces."""
_MAX_MARK_DIGITS = 12
_MAX_STEPS = 100_000


class OutputCapture:
    """One stream of one match; ``budget`` is shared by the match's two streams."""

    def __init__(self, fd: int, mark: bytes, budget: list[int]) -> None:
        self.fd = fd
        self._mark = mark
        self._budget = budget
        self._step = 0
        self._tail = b""
        self._texts: dict[int, bytearray] = {}
        os.set_blocking(fd, False)

    def drain(self) -> bool:
        """Read what lies in the pipe, up to a bound; False when all writers have gone.

        The bound is on reads and not on bytes: whoever writes them one by one, or makes the pipe
        keep them apart (O_DIRECT), would be read for minutes.
        """
        for _ in range(_MOST_READS):
            try:
                chunk = os.read(self.fd, _CHUNK)
            except BlockingIOError:
                return True
            if not chunk:
                return False
            self._take(chunk)
        return True

    def close(self) -> None:
        """Give the pipe back; the texts stay."""
        os.close(self.fd)

    def texts(self) -> dict[int, str]:
        """The text of each step that printed anything."""
        self._keep(self._tail)
        self._tail = b""
        return {
            step: bytes(text).decode("utf-8", "replace")[:MOVE_CHARACTERS]
            for step, text in self._texts.items()
            if text
        }

    def _take(self, chunk: bytes) -> None:
        data = self._tail + chunk
        while True:
            at = data.find(self._mark)
            if at < 0:
                break
            end = data.find(b"\0", at + len(self._mark))
            if end < 0:
                if len(data) - at <= len(self._mark) + _MAX_MARK_DIGITS:
                    self._keep(data[:at])
                    self._tail = data[at:]
                    return
                end = at + len(self._mark)
            self._keep(data[:at])
            number = data[at + len(self._mark) : end]
            if number.isdigit() and len(number) <= _MAX_MARK_DIGITS:
                self._step = min(int(number), _MAX_STEPS)
            data = data[end + 1 :]
        # A mark may be cut by the chunk's end: keep back what could be its beginning.
        held = _overlap(data, self._mark)
        self._keep(data[: len(data) - held])
        self._tail = data[len(data) - held :]

    def _keep(self, data: bytes) -> None:
        if not data or self._budget[0] <= 0:
            return
        text = self._texts.setdefault(self._step, bytearray())
        kept = data[: max(0, min(4 * MOVE_CHARACTERS - len(text), self._budget[0]))]
        self._budget[0] -= len(kept)
        text += kept


def _overlap(data: bytes, mark: bytes) -> int:
    """How many of the last bytes could be the first bytes of a mark."""
    for length in range(min(len(data), len(mark) - 1), 0, -1):
        if data.endswith(mark[:length]):
            return length
    return 0
