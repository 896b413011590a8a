"""``peck doctor`` on this machine agrees with the actual abilities and leaves no trace."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from sandbox.launchers import bubblewrap
from tests.integration.sandbox.conftest import missing
from tests.integration.sandbox.nodes import ROOT


def examined(**environment: str) -> tuple[int, dict[str, Any]]:
    """Exit status and report, without a service or a database."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("PECK_")}
    process = subprocess.Popen(
        [sys.executable, "-m", "services.cli", "doctor", "--json"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        env=inherited | environment,
    )
    printed, _ = process.communicate()
    assert traces(process.pid) == []
    return process.returncode, json.loads(printed)


def traces(pid: int) -> list[str]:
    """Groups and folders left by the probes of this process."""
    name = f"peck-doctor-{pid}"
    groups = [at for at, _, _ in os.walk("/sys/fs/cgroup") if name in at]
    return groups + [at for at in os.listdir(tempfile.gettempdir()) if at.startswith(name)]


def group_switches() -> dict[Path, str]:
    """The controllers that the top control groups give to the groups below."""
    roots = (Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified"))
    files = [root / "cgroup.subtree_control" for root in roots]
    return {file: file.read_text() for file in files if file.exists()}


def test_the_doctor_names_the_available_launchers_and_changes_no_group() -> None:
    before = group_switches()
    status, report = examined()
    assert group_switches() == before
    here = [name for name in ("docker", "bubblewrap") if missing(name) is None]
    assert set(report["degraded"]) <= set(here)
    assert report["launcher"] == next(iter(report["degraded"]), None)
    assert status == (0 if report["isolated"] else 1)
    if os.geteuid() == 0 and here:
        assert status == 0


def test_without_an_engine_only_bubblewrap_is_chosen() -> None:
    status, report = examined(DOCKER_HOST="unix:///nowhere/docker.sock")
    assert report["launcher"] in ("bubblewrap", None)
    assert status == (report["launcher"] is None)
    (engine,) = [check for check in report["checks"] if check["name"] == "docker engine"]
    assert engine["state"] in ("missing", "not needed")
    assert "no Docker engine answers" in engine["found"]


def test_without_engine_and_bubblewrap_agents_cannot_be_isolated(tmp_path: Path) -> None:
    status, report = examined(DOCKER_HOST="unix:///nowhere/docker.sock", PATH=str(tmp_path))
    assert status == 1
    assert report["isolated"] is False
    assert report["launcher"] is None
    assert bubblewrap.INSTALL in report["verdict"]
