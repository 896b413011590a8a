"""The wipe of a match's files."""

from __future__ import annotations

from pathlib import Path

from sandbox.box import cleanup


def test_files_of_a_large_bundle_do_not_count_as_files_of_the_match(tmp_path: Path) -> None:
    kept = {}
    for number in range(cleanup.MOST_ENTRIES):
        (tmp_path / str(number)).touch()
        kept[str(tmp_path / str(number))] = False
    (tmp_path / "written").touch()
    assert cleanup.wipe_folder(str(tmp_path), kept)
    assert {str(path) for path in tmp_path.iterdir()} == set(kept)


def test_more_files_of_a_match_than_the_limit_are_too_many(tmp_path: Path) -> None:
    for number in range(cleanup.MOST_ENTRIES + 1):
        (tmp_path / str(number)).touch()
    assert not cleanup.wipe_folder(str(tmp_path), {})
