"""Runs the `peck` command as a member of the served world."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import typed
from tests.integration.api.world import World

CHECKOUT = Path(__file__).resolve().parents[3]
Peck = Callable[..., subprocess.CompletedProcess[str]]


def member_environment(world: World, home: Path) -> dict[str, str]:
    """The variables of the member, with an empty home."""
    return {
        "PATH": os.environ["PATH"],
        "PECK_STATE": str(home / "state"),
        "PYTHONPATH": str(CHECKOUT),
        "HOME": str(home),
        "PECK_URL": str(world.http.base_url),
        "PECK_TOKEN": world.tokens["member"],
    }


def typing(world: World, folder: Path) -> Peck:
    """Runs `peck` as the member, in this folder."""
    environment = member_environment(world, folder)

    def run(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        return typed.peck(folder, {**environment, **more}, *arguments)

    return run


@pytest.fixture
def peck(world: World, tmp_path: Path) -> Peck:
    return typing(world, tmp_path)


@pytest.fixture
def fresh_peck(fresh_world: World, tmp_path: Path) -> Peck:
    return typing(fresh_world, tmp_path)


def read(done: subprocess.CompletedProcess[str]) -> Any:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
