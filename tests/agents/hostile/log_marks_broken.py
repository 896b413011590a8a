"""Writes broken log marks: cut, nested, without an end, with invalid numbers."""

import os
from typing import Any

from tests.agents.hostile import kit


def agent(obs: Any, config: Any) -> Any:
    mark = kit.secret_mark()
    for tail in (b"-5\0", b"9" * 40, b"\0", b"1e9\0", "٣\0".encode(), b"77\0forged ", mark, b""):
        os.write(1, mark + tail)
        os.write(2, mark[: len(mark) // 2] + tail + mark)
    return kit.move(obs)
