"""The game that docs/games.md brings, as its reader would copy it."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[3] / "docs" / "games.md"


def source() -> str:
    """The text of the page's Python block."""
    (block,) = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    return str(block)


def write(folder: Path) -> Path:
    """The example as a file of its own."""
    file = folder / "goofspiel.py"
    file.write_text(source())
    return file
