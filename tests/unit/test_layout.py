"""Size limits of the contest's packages. ruff limits the arguments of functions."""

from __future__ import annotations

from pathlib import Path

LADDER = Path(__file__).resolve().parents[2] / "ladder"
MOST_DOMAINS = 15


def test_ladder_has_few_domains() -> None:
    domains = [path for path in LADDER.iterdir() if (path / "__init__.py").exists()]
    assert 10 <= len(domains) <= MOST_DOMAINS
