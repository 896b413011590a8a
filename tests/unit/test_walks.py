"""The walks in docs/architecture name only existing functions."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

PAGES = Path(__file__).parents[2] / "docs/architecture"


@pytest.mark.parametrize("page", ["walks", "walks-of-hosts"])
def test_functions_named_in_the_walks_exist(page: str) -> None:
    names = re.findall(r"`((?:[a-z_]+\.)+[a-z_]+):([\w.]+)`", (PAGES / f"{page}.md").read_text())
    assert len(names) > 50
    for module, name in names:
        found = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
        assert callable(found), f"{module}:{name}"
