"""The wipe of a match's files."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.box import cleanup


@pytest.fixture(autouse=True)
def low_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cleanup, "MOST_ENTRIES", 300)


def test_bundle_files_do_not_count_as_match_files(tmp_path: Path) -> None:
    kept = {}
    for number in range(cleanup.MOST_ENTRIES):
        (tmp_path / str(number)).touch()
        kept[str(tmp_path / str(number))] = False
    (tmp_path / "written").touch()
    assert cleanup.wipe_folder(str(tmp_path), kept)
    assert {str(path) for path in tmp_path.iterdir()} == set(kept)


def test_a_match_with_too_many_files_exceeds_the_limit(tmp_path: Path) -> None:
    for number in range(cleanup.MOST_ENTRIES + 1):
        (tmp_path / str(number)).touch()
    assert not cleanup.wipe_folder(str(tmp_path), {})
