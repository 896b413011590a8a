"""A deployment with Docker Compose, with its own name, ports and volumes."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.ports import free_port

CHECKOUT: Final = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Deployment:
    """A compose project."""

    project: str
    environment: dict[str, str]
    folder: Path
    """Own files of this deployment; removed at its end."""
    checkout: Path = CHECKOUT
    files: tuple[str, ...] = ("docker-compose.yml",)

    def compose(self, *words: str) -> str:
        """The output of a command of docker compose. Fails with its errors."""
        named = [word for file in self.files for word in ("--file", file)]
        command = ["docker", "compose", "--project-name", self.project, *named, *words]
        done = subprocess.run(
            command,
            cwd=self.checkout,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr[-3000:]}"
        return done.stdout

    def query(self, sql: str) -> list[list[str]]:
        """Rows of the deployment's database."""
        shell = "PGPASSWORD=$(cat /secrets/postgres/password) psql -h 127.0.0.1 -U peck -At peck -c"
        out = self.compose("exec", "-T", "postgres", "sh", "-c", f'{shell} "{sql}"')
        return [line.split("|") for line in out.splitlines() if line]

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.environment['PECK_PORT']}"


@contextmanager
def deployment(
    *,
    settings: dict[str, str],
    checkout: Path = CHECKOUT,
    files: tuple[str, ...] = ("docker-compose.yml",),
) -> Iterator[Deployment]:
    """A project without containers; removes what was started."""
    folder = Path(tempfile.mkdtemp(prefix="peck-compose-", dir="/var/tmp"))
    folder.chmod(0o711)
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PECK_")}
    made = Deployment(
        folder.name,
        {
            **kept,
            "PECK_PORT": str(free_port()),
            "PECK_SECOND_PORT": str(free_port()),
            "PECK_NODE_DIR": str(folder / "node"),
            "PECK_IMAGE": "pecking-order:test",
            **settings,
        },
        folder,
        checkout,
        files,
    )
    try:
        yield made
    finally:
        made.compose("--profile", "*", "down", "--volumes", "--timeout", "0")
        shutil.rmtree(folder, ignore_errors=True)
