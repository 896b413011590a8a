"""``peck up``: one command, a clean stop, and no leftovers or lost data in any end."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from services.run import embedded_servers
from services.run.child_processes import SERVICE_NICE
from services.run.local_instance import LocalInstance
from services.run.process_supervisor import StartError, UpOptions
from tests import servers
from tests.daemon import LIBRARIES
from tests.integration.api.browsing import FIELD
from tests.waiting import wait_until

pytestmark = pytest.mark.bubblewrap

CHECKOUT = Path(__file__).resolve().parents[2]
COMMAND = [sys.executable, "-P", "-m", "services.cli", "up", "--launcher", "bubblewrap"]


@dataclass
class Running:
    """A ``peck up`` and its output."""

    process: subprocess.Popen[str]
    address: str
    token: str
    text: str

    def get(self, path: str) -> Any:
        return self.send("GET", path)

    def set_league_state(self, state: str) -> None:
        self.send("PATCH", "/v1/leagues/first", json.dumps({"state": state}).encode())

    def send(self, method: str, path: str, body: bytes | None = None) -> Any:
        request = urllib.request.Request(
            self.address + path,
            body,
            {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"},
            method=method,
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)


@contextmanager
def folder() -> Iterator[Path]:
    """A folder with a short path that the servers' user can reach."""
    made = Path(tempfile.mkdtemp(prefix="peck-up-", dir=servers.fast_place()))
    made.chmod(0o711)
    share_libraries(made / "run" / "node")
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def share_libraries(node: Path) -> None:
    """Links the folders of libraries that a node here would fill for half a minute."""
    node.mkdir(mode=0o711, parents=True)
    for name in ("profiles", "programs", "systems"):
        (LIBRARIES / name).mkdir(parents=True, exist_ok=True)
        (node / name).symlink_to(LIBRARIES / name)


@pytest.fixture
def state() -> Iterator[Path]:
    with folder() as made:
        yield made


def environment(state: Path) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PECK_")}
    return {
        **kept,
        "PYTHONPATH": str(CHECKOUT),
        "PECK_STATE": str(state),
        "PECK_DEMO_LEAGUES": "game-of-life-and-death",  # its matches are short
    }


def start(state: Path, *options: str, **settings: str) -> Running:
    with (state / "up.err").open("ab") as told:
        process = subprocess.Popen(
            [*COMMAND, "--port", "0", "--state", str(state), *options],
            stdout=subprocess.PIPE,
            stderr=told,
            text=True,
            env={**environment(state), **settings},
        )
    assert process.stdout is not None
    text = ""
    for line in process.stdout:
        text += line
        if "Ctrl-C" in line:
            break
    address = re.search(r"is up: (http://127\.0\.0\.1:\d+)", text)
    token = re.search(r"peck_\w+", text)
    assert address is not None, f"{text}\n{(state / 'up.err').read_text()}"
    assert token is not None
    return Running(process, address.group(1), token.group(0), text)


def end(up: Running, number: signal.Signals) -> int:
    up.process.send_signal(number)
    status = up.process.wait(120)
    assert up.process.stdout is not None
    up.process.stdout.close()
    return status


def descendants(pid: int) -> set[int]:
    """Every process below this one, by the kernel's parent ids."""
    parents: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(folder.name)] = int(fields[1])
    found: set[int] = set()
    grown = {pid}
    while grown:
        grown = {child for child, parent in parents.items() if parent in grown} - found
        found |= grown
    return found


def living(pids: set[int]) -> dict[int, str]:
    """The processes that still run (no zombies), with their names."""
    names = {}
    for pid in pids:
        try:
            stat = Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            continue
        if stat.rpartition(")")[2].split()[0] != "Z":
            names[pid] = stat[stat.index("(") + 1 : stat.rindex(")")]
    return names


def finished(state: Path) -> int:
    url = embedded_servers.postgres_url(state, "peck")
    with psycopg.connect(url) as conn:
        row = conn.execute("select count(*) from matches where state = 'finished'").fetchone()
        assert row is not None
        return int(row[0])


def test_a_refused_start_keeps_the_address_file(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PECK_STATE", str(state))
    (state / "address").write_text("http://127.0.0.1:1\n")
    second = LocalInstance(UpOptions(state, launcher="docker"), lambda _: None)
    with (state / "lock").open("w") as first:
        fcntl.flock(first, fcntl.LOCK_EX)
        with pytest.raises(StartError, match="that is starting"):
            second.start()
        second.stop()
    assert (state / "address").exists()


def answers(up: Running) -> bool:
    """Whether the site lists its leagues."""
    with suppress(OSError):
        return bool(up.get("/v1/leagues")["items"])
    return False


@dataclass
class Instance:
    """The running ``peck up`` that the tests below share, in their order."""

    up: Running
    state: Path

    @contextmanager
    def playing(self) -> Iterator[None]:
        """Inside this block the league plays. Outside it would only slow other tests."""
        self.up.set_league_state("open")
        yield
        self.up.set_league_state("paused")


@pytest.fixture(scope="module")
def instance() -> Iterator[Instance]:
    """A `peck up` without demo leagues, in which the suggested commands were run, and games are
    short."""
    with folder() as state:
        made = Instance(start(state, "--no-demo"), state)
        try:
            lines = [line.partition("./peck ")[2] for line in made.up.text.splitlines()]
            for line in filter(None, lines):
                short = ["configuration.episodeSteps=20"] if "league create" in line else []
                tried = subprocess.run(
                    [*COMMAND[:4], *line.split(), *short],
                    cwd=CHECKOUT,
                    capture_output=True,
                    text=True,
                    env=environment(state),
                    check=False,
                )
                assert tried.returncode == 0, f"{line}: {tried.stdout}{tried.stderr}"
            assert len(list(filter(None, lines))) == 3
            made.up.set_league_state("paused")
            yield made
        finally:
            below = descendants(made.up.process.pid)
            assert end(made.up, signal.SIGTERM) == 0
            assert living(below) == {}
            assert not (state / "address").exists()


def test_suggested_commands_work_without_demo_leagues(instance: Instance) -> None:
    assert [league["slug"] for league in instance.up.get("/v1/leagues")["items"]] == ["first"]
    wait_until(lambda: finished(instance.state) >= 1, "a match is finished")


def test_invented_forwarders_do_not_lift_the_limit_on_passwords(instance: Instance) -> None:
    with httpx.Client(base_url=instance.up.address, timeout=60) as browser:
        token = dict(FIELD.findall(browser.get("/sign-in").text))["form_token"]
        wrong = {"form_token": token, "name": "nobody here", "password": "a wrong password"}
        for n in range(20):  # a minute's end may fall between ten of them
            headers = {"X-Forwarded-For": f"203.0.113.{n}"}
            status = browser.post("/sign-in", data=wrong, headers=headers).status_code
            if status == 429:
                return
        assert status == 429


def test_a_dead_part_is_restarted(instance: Instance) -> None:
    with instance.playing():
        strike_and_wait(instance.up, instance.state)


def strike_and_wait(up: Running, state: Path) -> None:
    """Kills each of our processes once, and waits until the instance works again."""
    struck, nice = [], set()
    for pid in descendants(up.process.pid):
        with suppress(OSError):  # a box's process that has just ended
            line = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ")
            parts = (b"services.scheduler", b"sandbox.node", b"sandbox.remote", b"uvicorn")
            if any(name in line for name in parts):
                struck.append(pid)
                is_node = b"sandbox.node" in line
                nice.add((is_node, os.getpriority(os.PRIO_PROCESS, pid)))
    assert (
        len(struck) == 6
    )  # the node has a guard and a daemon; the remote part also has the callers' maker
    if os.geteuid() == 0:  # only root may raise a priority
        assert nice == {(True, 0), (False, SERVICE_NICE)}, "a page does not wait for boxes"
    for pid in struck:
        os.kill(pid, signal.SIGKILL)
    told = state / "up.err"
    wait_until(lambda: told.read_text().count("restarting it") >= 4, "they are missed")
    before = finished(state)
    wait_until(lambda: finished(state) > before + 1, "matches are played again")
    wait_until(lambda: answers(up), "the site answers again")


def test_a_second_peck_up_on_the_same_folder_is_refused(instance: Instance) -> None:
    up, state = instance.up, instance.state
    assert (state / "token").stat().st_mode & 0o777 == 0o600
    assert (state / "token").read_text().strip() == up.token
    assert "submit" in up.text
    assert "scrim" in up.text
    second = subprocess.run(
        [*COMMAND, "--port", "0", "--state", str(state)],
        capture_output=True,
        text=True,
        env=environment(state),
        check=False,
    )
    assert second.returncode == 1
    assert "Traceback" not in second.stderr
    assert f"already runs on {state} ({up.address}" in second.stderr
    assert (state / "address").read_text().strip() == up.address, "the first one's stays"


def test_peck_up_continues_after_a_kill(instance: Instance) -> None:
    up, state = instance.up, instance.state
    league = up.get("/v1/leagues/first")
    before, below = finished(state), descendants(up.process.pid)
    assert len(below) >= 10
    with instance.playing():
        end(up, signal.SIGKILL)
        deadline = time.monotonic() + 120
        while living(below) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert living(below) == {}, "a killed parent leaves nothing running"

        instance.up = again = start(state)
        assert again.token == up.token, "the token outlives a restart"
        assert again.get("/v1/leagues/first")["id"] == league["id"]
        demo = again.get("/v1/leagues/game-of-life-and-death")
        assert demo["game"] == "golad", "demo leagues come"
        assert finished(state) >= before, "nothing finished is lost"
        wait_until(lambda: finished(state) > before, "matches go on")


def test_a_port_in_use_is_refused(state: Path) -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        with pytest.raises(StartError, match=f"--port {port}"):
            refused_start(UpOptions(state, port=port, launcher="bubblewrap"))
    assert not (state / "postgres").exists(), "nothing was started"
    assert not (state / "log").exists()


def test_without_a_sandbox_peck_up_prints_the_install_command(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "apt-get").symlink_to("/bin/true")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(StartError, match="apt-get install -y --no-install-recommends bubblewrap"):
        refused_start(UpOptions(state, install=False, launcher="bubblewrap"))
    assert not (state / "postgres").exists(), "nothing was started"


def refused_start(options: UpOptions) -> None:
    """Starts an instance in this process and stops what it has started."""
    instance = LocalInstance(options, lambda _: None)
    try:
        instance.start()
    finally:
        instance.stop()


def test_wrong_setting_is_named_before_anything_starts(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PECK_BASE_URL", "https://example.org/peck")
    with pytest.raises(StartError, match=r"^PECK_BASE_URL: write scheme and host alone"):
        refused_start(UpOptions(state))
    assert not (state / "postgres").exists()


def environment_of(pid: int) -> dict[str, str]:
    """The variables of a process, and its command as COMMAND; none if it has ended."""
    try:
        text = Path(f"/proc/{pid}/environ").read_text()
        command = Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return {}
    variables = dict(line.split("=", 1) for line in text.split("\0") if "=" in line)
    return {**variables, "COMMAND": command}


PASSED_ON = {
    "workers.main": {
        "PECK_MAX_PARALLEL_SEATS": "3",
        "PECK_QUEUES": "play.cpu,validate",
        "PECK_SPEED_CLASS": "1.2x",
    },
    "uvicorn": {
        "PECK_SIGN_UP_DOMAINS": "example.org",
        "PECK_IDENTITY_PROVIDERS": "[]",
        "PECK_SESSION_SECRET": "chosen",
    },
    "sandbox.node": {"PECK_BUILD_NETWORK": "host", "PECK_TORCH_INDEX": "https://example.org/whl"},
}


def test_settings_of_the_operator_reach_the_parts(state: Path) -> None:
    settings = {name: text for part in PASSED_ON.values() for name, text in part.items()}
    up = start(state, "--no-demo", **settings, PECK_PORT="8000", PECK_WORKER_SLOTS="1")
    try:
        environments = [environment_of(pid) for pid in descendants(up.process.pid)]
    finally:
        end(up, signal.SIGTERM)
    missing = [
        part
        for part, wanted in PASSED_ON.items()
        if not any(
            part in one.get("COMMAND", "") and wanted.items() <= one.items() for one in environments
        )
    ]
    assert missing == []
    told = (state / "up.err").read_text()
    assert "these settings have no effect on peck up: PECK_PORT\n" in told
