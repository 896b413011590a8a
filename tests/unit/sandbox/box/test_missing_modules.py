"""The remedy for a module that a box does not have."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.box.agent_program import import_remedy


def of(name: str) -> str:
    return import_remedy(ModuleNotFoundError(f"No module named {name!r}", name=name))


def test_the_profile_with_the_missing_module_is_named() -> None:
    assert of("pandas") == "pandas is in the profile science: add --profile science"


@pytest.mark.parametrize(
    ("here", "missing", "profile"),
    [("torch", "lightgbm", "science"), ("pandas", "sympy", "torch")],
)
def test_bundling_is_the_remedy_if_no_profile_has_all_modules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, here: str, missing: str, profile: str
) -> None:
    (tmp_path / f"{here}.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    assert of(missing) == (
        f"{missing} is in the profile {profile}, which lacks {here}: put it into your folder"
        f" (for a library, `pip install --target FOLDER {missing}`), or add --profile {profile}"
        f" if you do not need {here}"
    )
