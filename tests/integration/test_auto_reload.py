"""Parts of an instance restart when a source file changes."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from ladder.settings import Settings
from services.run import reload
from services.run.child_processes import Child, spawn
from services.run.local_instance import LocalInstance
from services.run.process_supervisor import (
    StartError,
    SupervisedProcess,
    UpOptions,
    listen_on_port,
    site_answers,
)
from tests.ports import free_port


@pytest.fixture
def instance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalInstance]:
    """An instance of idle parts and a listening site, over a tree with one source file."""
    (tmp_path / "games").mkdir()
    (tmp_path / "games" / "rules.py").write_text("RATE = 40\n")
    monkeypatch.setattr(reload, "CHECKOUT", tmp_path)
    port = free_port()
    made = LocalInstance(UpOptions(), lambda _: None)
    made.settings = Settings(port=port)

    def part(name: str) -> SupervisedProcess:
        module = ["http.server", str(port)] if name == "api" else ["http.server", "0"]
        command = [sys.executable, "-m", *module]
        return SupervisedProcess(name, lambda: spawn(name, command, log=tmp_path / f"{name}.log"))

    made.parts = [part(name) for name in (*reload.RELOADED_PROCESSES, "node")]
    for one in made.parts:
        one.begin()
    yield made
    for one in made.parts:
        child(one).process.kill()
        child(one).process.wait()


def child(part: SupervisedProcess) -> Child:
    assert part.child is not None
    return part.child


def pids(instance: LocalInstance) -> dict[str, int]:
    return {part.name: child(part).process.pid for part in instance.parts}


def test_a_source_change_restarts_the_reloadable_parts(
    instance: LocalInstance, tmp_path: Path
) -> None:
    reloader = reload.Reloader(instance)
    before = pids(instance)
    reloader.restart_if_changed()
    assert pids(instance) == before
    (tmp_path / "games" / "rules.py").write_text("RATE = 400\n")
    reloader.restart_if_changed()
    after = pids(instance)
    assert {name for name in before if before[name] != after[name]} == set(
        reload.RELOADED_PROCESSES
    )
    assert site_answers(instance.settings.port)
    (tmp_path / "games" / "more.py").touch()  # a new file
    reloader.restart_if_changed()
    assert pids(instance)["api"] != after["api"]


SITE = """
async def create(scope, receive, send):
    if scope["type"] == "http":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"RATE"})
"""


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with listen_on_port(0, lambda _: None) as made:
        yield made


@pytest.fixture
def site(tmp_path: Path, listener: socket.socket) -> Iterator[Child]:
    """A site of one page in a process that keeps its libraries."""
    (tmp_path / "page.py").write_text(SITE.replace("RATE", "40"))
    arguments = ["page:create", "--fd", str(listener.fileno()), "--lifespan", "off"]
    made = spawn(
        "api",
        [sys.executable, "-m", "services.run.reload", *arguments],
        log=tmp_path / "api.log",
        environment={**os.environ, "PYTHONPATH": f"{Path.cwd()}:{tmp_path}"},
        inherit=(listener.fileno(),),
    )
    yield made
    made.stop()


def page(listener: socket.socket) -> str:
    with urllib.request.urlopen(
        f"http://127.0.0.1:{listener.getsockname()[1]}/", timeout=60
    ) as answer:
        text: str = answer.read().decode()
    return text


def test_a_renewed_site_serves_the_changed_source(
    site: Child, listener: socket.socket, tmp_path: Path
) -> None:
    assert page(listener) == "40"
    (tmp_path / "page.py").write_text(SITE.replace("RATE", "4000"))
    reload.restart_worker(site.process.pid)
    assert page(listener) == "4000"
    assert site.alive()


def test_a_site_with_a_syntax_error_exits(
    site: Child, listener: socket.socket, tmp_path: Path
) -> None:
    assert page(listener) == "40"
    (tmp_path / "page.py").write_text("RATE = \n")
    reload.restart_worker(site.process.pid)
    assert site.process.wait(300) == 1


def test_a_request_waits_until_the_site_starts(listener: socket.socket, tmp_path: Path) -> None:
    with socket.create_connection(listener.getsockname()) as early:
        early.sendall(b"GET / HTTP/1.0\r\n\r\n")
        (tmp_path / "page.py").write_text(SITE.replace("RATE", "40"))
        command = [sys.executable, "-m", "uvicorn", "page:create", "--lifespan", "off"]
        with subprocess.Popen(
            [*command, "--fd", str(listener.fileno())],
            env={**os.environ, "PYTHONPATH": str(tmp_path)},
            pass_fds=(listener.fileno(),),
        ) as server:
            assert early.makefile().read().endswith("40")
            server.kill()


def test_port_in_use_is_refused(listener: socket.socket) -> None:
    port = listener.getsockname()[1]
    with pytest.raises(StartError, match=f"--port {port}: choose another port"):
        listen_on_port(port, lambda _: None)
