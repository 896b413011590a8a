"""Profiles: the contents of their locks, and the large ones' need for approval."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sandbox import profiles
from sandbox.box import agent_program
from sandbox.errors import HostFault
from sandbox.launchers import profile_cli


def test_profile_versions_match_the_lock() -> None:
    assert profiles.get_profile("python").versions == {}
    assert profiles.get_profile("numpy").versions == {"numpy": "2.4.6"}
    torch, gpu = profiles.get_profile("torch").versions, profiles.get_profile("torch-gpu").versions
    assert torch["torch"] == "2.13.0+cpu"
    assert gpu["torch"] == "2.13.0"
    assert torch["numpy"] == gpu["numpy"] == profiles.get_profile("numpy").versions["numpy"]


def test_shared_libraries_have_one_version_in_all_profiles() -> None:
    science, torch = (
        profiles.get_profile("science").versions,
        profiles.get_profile("torch").versions,
    )
    for library in ("numpy", "scipy", "numba"):
        assert science[library] == torch[library]


def test_idle_science_box_imports_no_more_than_numpy() -> None:
    assert profiles.get_profile("science").imports == profiles.get_profile("numpy").imports
    assert profiles.get_profile("science").zygote_mb == 0


@pytest.mark.parametrize("module", agent_program.PROFILE_OF)
def test_remedy_names_the_smallest_profile_with_the_library(module: str) -> None:
    library = {"sklearn": "scikit-learn", "google": "protobuf"}.get(module, module)
    holding = [name for name, one in profiles.PROFILES.items() if library in one.versions]
    assert holding[0] == agent_program.PROFILE_OF[module]


@pytest.mark.parametrize(
    "error", [None, ImportError("no"), ModuleNotFoundError("no"), ModuleNotFoundError(name="a.b")]
)
def test_other_errors_have_no_remedy(error: BaseException | None) -> None:
    assert agent_program.import_remedy(error) == ""


@pytest.mark.parametrize("name", [n for n, p in profiles.PROFILES.items() if p.lock])
def test_every_library_is_pinned_by_hash(name: str) -> None:
    profile = profiles.get_profile(name)
    assert profile.lock is not None
    pinned = profile.lock.read_text().split("\n")
    heads = [line for line in pinned if "==" in line]
    assert len(heads) == len(profile.versions)
    assert all(line.endswith("\\") for line in heads)
    assert len(profile.hashes) >= len(heads)
    asked = profile.lock.with_suffix(".in").read_text().splitlines()
    for line in asked:
        if line and not line.startswith("#"):
            assert any(head.startswith(line) for head in heads), line


def test_no_lock_names_an_index() -> None:
    for profile in profiles.PROFILES.values():
        if profile.lock is not None:
            assert "http" not in profile.lock.read_text()


def test_nodes_build_only_small_profiles_by_default() -> None:
    assert profiles.BY_ITSELF == ("python", "numpy")
    assert profiles.ON_COMMAND == ("science", "torch", "torch-gpu")


def test_a_large_profile_is_installed_only_on_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    said: list[str] = []
    with pytest.raises(HostFault, match="profile_cli build --profile torch"):
        profiles.ensure_libraries(profiles.get_profile("torch"), tmp_path, said.append)
    assert said == []
    assert list(tmp_path.iterdir()) == []


def test_torch_zygotes_have_one_thread() -> None:
    for name in ("torch", "torch-gpu"):
        profile = profiles.get_profile(name)
        assert profile.environment["OMP_NUM_THREADS"] == "1"
        assert not any("cuda" in module for module in profile.imports)


def test_the_image_list_shows_unbuilt_profiles(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert profile_cli.main(["list", "--json", "--state-dir", str(tmp_path)]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {(row["profile"], row["launcher"]) for row in rows} == {
        (name, launcher) for name in profiles.PROFILES for launcher in profile_cli.LAUNCHERS
    }
    for row in rows:
        assert row["built"] or row["where"]
