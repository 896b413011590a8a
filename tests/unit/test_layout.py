"""Size limits of the contest's packages, and locks that agree. ruff limits the arguments."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LADDER = ROOT / "ladder"
MOST_DOMAINS = 15


def test_ladder_has_few_domains() -> None:
    domains = [path for path in LADDER.iterdir() if (path / "__init__.py").exists()]
    assert 10 <= len(domains) <= MOST_DOMAINS


def test_the_lock_of_the_test_tools_holds_the_runtimes_packages() -> None:
    """``scripts/bootstrap.py`` installs only the lock of the test tools for ``./peck test``."""

    def pinned(lock: str) -> set[str]:
        lines = (ROOT / lock).read_text().splitlines()
        return {line for line in lines if "==" in line and line[0] not in " #"}

    assert pinned("requirements.lock") <= pinned("requirements-dev.lock")
