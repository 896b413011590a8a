"""The examples of docs/how-to/bring-a-game.md, as its reader would copy it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parents[3] / "docs" / "how-to" / "bring-a-game.md"


def source() -> str:
    """The text of the whole game."""
    return _block("python")


def write(folder: Path) -> Path:
    """The example as a file of its own."""
    file = folder / "goofspiel.py"
    file.write_text(source())
    return file


def adapters() -> dict[str, Any]:
    """What the file that adapts PettingZoo's environments defines."""
    defined: dict[str, Any] = {}
    exec(compile(_block("py"), PAGE, "exec"), defined)
    return defined


def _block(language: str) -> str:
    fenced = rf"^```{language}\n(.*?)^```$"
    (block,) = re.findall(fenced, PAGE.read_text(), re.MULTILINE | re.DOTALL)
    return str(block)
