"""Uses names that are no text: broken UTF-8, line ends, terminal codes, a leading dash."""

import os
from typing import Any

from tests.agents.hostile import kit

NAMES = (b"\xff\xfe", b"a\nb", b"\x1b[2J", b"-rf", b"x" * 255, b"\xed\xa0\x80", b" ", b"...")


def agent(obs: Any, config: Any) -> Any:
    if obs["step"] == 0:
        for name in NAMES:
            os.mkdir(b"/tmp/" + name)
            with open(b"/tmp/" + name + b"/" + name[::-1], "w") as file:
                file.write("x")
    return kit.move(obs)
