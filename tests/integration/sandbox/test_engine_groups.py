"""Control groups that a container engine left are removed."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.launchers import cgroups

ROOT = Path("/sys/fs/cgroup")


@pytest.fixture
def left() -> Iterator[list[Path]]:
    """Empty groups of one container below a parent, in each hierarchy, as runc leaves them."""
    name = f"peck-test-{secrets.token_hex(4)}"
    is_pure = (ROOT / "cgroup.controllers").exists()
    roots = [ROOT] if is_pure else [path for path in ROOT.iterdir() if path.is_dir()]
    groups = []
    for root in roots:
        with contextlib.suppress(OSError):
            (root / name / "container").mkdir(parents=True)
            groups.append(root / name / "container")
    if not groups:
        pytest.skip("no control group can be made here")
    yield groups
    for group in groups:
        for folder in (group, group.parent):
            with contextlib.suppress(OSError):
                folder.rmdir()


def test_groups_that_an_engine_left_are_removed(left: list[Path]) -> None:
    name = left[0].parent.name
    cgroups.remove_groups_of_engine(f"{name}/container")
    assert [group for group in left if group.exists()] == []
    assert all(group.parent.exists() for group in left)
    left[0].mkdir()  # of another container
    cgroups.remove_groups_of_engine(name)
    assert [group for group in left if group.parent.exists()] == []
