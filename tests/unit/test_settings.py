"""The places that read the environment, and the description of every variable."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from pydantic import ValidationError

from ladder.settings import Settings, SetupSettings
from sandbox.settings import Settings as NodeSettings
from services.environment_variables import Environment
from services.run.process_supervisor import SETTINGS_OF_PROCESS

CHECKOUT = Path(__file__).parents[2]
PACKAGES = ("egress", "estimates", "games", "ladder", "sandbox", "services", "workers")
READERS = {
    "ladder/database/blobs.py": "AWS_ENDPOINT, which the S3 library reads",
    "sandbox/settings.py": "the node's settings",
    "services/environment_variables.py": "the command line's",
    "sandbox/remote/__main__.py": "keeps what the guard reads and starts again without the rest",
    "sandbox/remote/daemon.py": "hands the guard's variables to it, without dependencies",
    "sandbox/remote/caller_processes.py": "empties it",
    "sandbox/process_guard.py": "for a child",
    "sandbox/launchers/docker_images.py": "pip's own variable",
    "sandbox/profiles.py": "XDG_CACHE_HOME",
    "services/cli/display.py": "the terminal's variables, of which rich knows more",
    "services/cli/game_check.py": "for a child",
    "services/cli/operations.py": "where the user keeps caches",
    "services/cli/__main__.py": "the variable by which a shell asks for completions",
    "services/cli/local_node.py": "for a child",
    "services/run/system_packages.py": "for a child, and CI",
    "services/run/local_instance.py": "for children",
    "services/run/process_supervisor.py": "for children, and DOCKER_HOST",
}


def reads_environment(source: str) -> bool:
    names = ("environ", "environb", "getenv")
    return any(name in source for name in names) and any(
        isinstance(node, ast.Attribute) and node.attr in names
        for node in ast.walk(ast.parse(source))
    )


def test_only_listed_modules_read_the_environment() -> None:
    found = {
        str(path.relative_to(CHECKOUT))
        for package in PACKAGES
        for path in (CHECKOUT / package).rglob("*.py")
        if "sandbox/box" not in str(path) and reads_environment(path.read_text())
    }
    assert found == set(READERS)


def test_only_settings_modules_read_peck_variables() -> None:
    settings = {"sandbox/settings.py", "services/environment_variables.py"}
    read = re.compile(r"""(environ(\.get)?|getenv)\s*[\[(]\s*f?["']PECK_""")
    for name in READERS.keys() - settings:
        assert not read.search((CHECKOUT / name).read_text()), name


@pytest.mark.parametrize("field", SetupSettings.model_fields)
def test_every_setting_is_described(field: str) -> None:
    assert SetupSettings.model_fields[field].description


def test_settings_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DATABASE_URL", "WORKER_PASSWORD", "NODE_RUNTIME", "TOKEN"):
        monkeypatch.setenv(f"PECK_{name}", name.lower())
    monkeypatch.setenv("POSTGRES_PASSWORD", "owner's")
    assert Settings().database_url == "database_url"
    assert SetupSettings().worker_password == "worker_password"
    assert SetupSettings().postgres_password == "owner's"
    assert NodeSettings.read().node_runtime == "node_runtime"
    assert Environment.read().token == "token"


@pytest.mark.parametrize(
    "address",
    [
        "https://example.org/peck",
        "https://example.org/peck/",
        "https://example.org?site=peck",
        "https://example.org/#peck",
        "https://ada:secret@example.org",
        "example.org",
        "ftp://example.org",
        "https://",
        "https://example.org:port",
    ],
)
def test_base_address_is_the_root_of_a_host(address: str) -> None:
    with pytest.raises(ValidationError, match="base_url") as caught:
        Settings(base_url=address)
    assert "write scheme and host" in str(caught.value)


def test_base_address_loses_its_last_slash() -> None:
    assert Settings(base_url="https://example.org:8443/").base_url == "https://example.org:8443"


JOINED = {"machine_secret"}
"""Settings of a machine that joined, which `peck machine join` sets."""


def test_every_setting_reaches_a_part_of_peck_up() -> None:
    passed = {name for names in SETTINGS_OF_PROCESS.values() for name in names}
    by_option = {"worker_slots", "port"}
    assert set(Settings.model_fields) - passed - by_option - JOINED == set()
