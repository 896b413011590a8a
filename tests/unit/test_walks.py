"""docs/architecture/walks.md names only functions that are there."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs/architecture/walks.md"


def test_functions_named_in_the_walks_exist() -> None:
    names = re.findall(r"`((?:[a-z_]+\.)+[a-z_]+):([\w.]+)`", PAGE.read_text())
    assert len(names) > 50
    for module, name in names:
        found = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
        assert callable(found), f"{module}:{name}"
