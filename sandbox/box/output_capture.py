"""Reads an agent's printed output in the supervisor, splits it by moves and bounds it.

Both streams are pipes with the agent's bytes and the harness's marks: a secret of the match, the
step's number and a NUL. An agent that finds the secret can only forge the parts of its own log.
Memory is bounded: ``MOVE_CHARACTERS`` per move and stream, ``MATCH_BYTES`` per match. The rest is
read and dropped.
"""

from __future__ import annotations

import os

MOVE_CHARACTERS = 10_000
MATCH_BYTES = 1 << 20
_CHUNK = 1 << 16
_MOST_READS = 64
"""Most reads at a time: four megabytes from an agent that writes large pieces."""
_MAX_MARK_DIGITS = 12
_MAX_STEPS = 100_000


class OutputCapture:
    """One stream of one match. The match's two streams share ``budget``."""

    def __init__(self, fd: int, mark: bytes, budget: list[int]) -> None:
        self.fd = fd
        self._mark = mark
        self._budget = budget
        self._step = 0
        self._tail = b""
        self._texts: dict[int, bytearray] = {}
        self.read_bytes = 0
        """Bytes read so far, marks included."""
        os.set_blocking(fd, False)

    def drain(self) -> bool:
        """Read what is in the pipe, up to a limit. Returns False when all writers have gone.

        The limit counts reads, not bytes. Otherwise single bytes, or packets (O_DIRECT), would take
        minutes.
        """
        for _ in range(_MOST_READS):
            try:
                chunk = os.read(self.fd, _CHUNK)
            except BlockingIOError:
                return True
            if not chunk:
                return False
            self.read_bytes += len(chunk)
            self._split_by_marks(chunk)
        return True

    def close(self) -> None:
        os.close(self.fd)

    def texts(self) -> dict[int, str]:
        """The text of each step that printed anything."""
        self._append_text(self._tail)
        self._tail = b""
        return {
            step: bytes(text).decode("utf-8", "replace")[:MOVE_CHARACTERS]
            for step, text in self._texts.items()
            if text
        }

    def _split_by_marks(self, chunk: bytes) -> None:
        data = self._tail + chunk
        while True:
            at = data.find(self._mark)
            if at < 0:
                break
            end = data.find(b"\0", at + len(self._mark))
            if end < 0:
                if len(data) - at <= len(self._mark) + _MAX_MARK_DIGITS:
                    self._append_text(data[:at])
                    self._tail = data[at:]
                    return
                end = at + len(self._mark)
            self._append_text(data[:at])
            number = data[at + len(self._mark) : end]
            if number.isdigit() and len(number) <= _MAX_MARK_DIGITS:
                self._step = min(int(number), _MAX_STEPS)
            data = data[end + 1 :]
        # The chunk's end may cut a mark, so keep back what could be its beginning.
        held = _overlap(data, self._mark)
        self._append_text(data[: len(data) - held])
        self._tail = data[len(data) - held :]

    def _append_text(self, data: bytes) -> None:
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
