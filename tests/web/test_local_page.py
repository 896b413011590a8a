"""`peck view` and `peck run --watch`: the player on one's own games, in a process of its own."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, expect

from tests import typed
from tests.integration import real_node
from tests.integration.real_node import EAST, RealNode

REPOSITORY = Path(__file__).resolve().parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(REPOSITORY), "BROWSER": "true"}
SLOW = """import time

def agent(o, c):
    print("step", o.step)
    time.sleep(0.1)
    return "EAST"
"""


@pytest.fixture(scope="module")
def node() -> Iterator[RealNode]:
    real_node.require("bubblewrap")
    with real_node.running("bubblewrap") as running:
        yield running


@contextmanager
def page_of(folder: Path, *arguments: str) -> Iterator[str]:
    """The address that a command prints; the command gets SIGINT at the end."""
    command = [sys.executable, "-m", "services.cli", *arguments]
    with subprocess.Popen(
        command, cwd=folder, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True
    ) as running:
        try:
            assert running.stderr is not None
            said = ""
            while "http://" not in said:
                line = running.stderr.readline()
                assert line, said
                said += line
            found = re.search(r"http://127\.0\.0\.1:\d+", said)
            assert found is not None
            yield found[0]
        finally:
            running.send_signal(signal.SIGINT)
            try:
                running.communicate(timeout=120)
            finally:
                running.kill()


def answer(address: str) -> httpx.Response:
    """The answer, once the page answers."""
    until = time.monotonic() + 180
    while True:
        try:
            return httpx.get(address, follow_redirects=True)
        except httpx.TransportError:
            assert time.monotonic() < until
            time.sleep(0.05)


def episode(address: str) -> dict[str, Any]:
    document: dict[str, Any] = answer(f"{address}/games/1/episode.json").json()
    return document


@pytest.mark.bubblewrap
@pytest.mark.browser
def test_a_game_is_watched_while_it_is_played(
    node: RealNode, tmp_path: Path, browser: Browser
) -> None:
    for name, source in {"east": EAST, "slow": SLOW}.items():
        (tmp_path / f"{name}.py").write_text(source)
    given = ["hungry_geese", "east.py", "slow.py", "--node", str(node.socket), "--out", "out"]
    given += ["--profile", "python", "--seed", "7"]
    with page_of(tmp_path, "run", *given, "--watch") as address:
        while answer(f"{address}/games/1/episode.json").status_code == 404:
            time.sleep(0.02)
        assert episode(address)["placements"] is None
        page = browser.new_page(reduced_motion="no-preference")
        page.goto(address)
        player = page.locator("[data-player]")
        expect(player).to_have_attribute("data-ready", "true")
        while (whole := episode(address))["placements"] is None:
            time.sleep(0.2)
        last = str(len(whole["steps"]))
        expect(page.locator(".step-last")).to_have_text(last)
        expect(player).to_have_attribute("data-step", last)
        page.close()
    # The folder of the run shows the same game again, with names and logs.
    with page_of(tmp_path, "view", "out", "--no-browser") as address:
        assert episode(address) == whole
        shown = answer(address).text
        assert "east against slow" in shown
        log = answer(f"{address}/games/1/logs/1").json()
        assert log["moves"][0]["stdout"] == "step 0\n"
        stranger = httpx.get(address, headers={"Host": "evil.example"})
        assert stranger.status_code == 400


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "there is no such file"),
        ("geese", "this is no JSON"),
        ("{}", "this is no replay; download one by `peck replay MATCH`"),
        ('{"format": "peck-replay/1"}', "seats"),
        ('{"steps": [], "specification": {}, "name": "chess"}', "no player for 'chess'"),
        ('{"steps": [], "specification": {}, "name": "hungry_geese"}', "no episode of Hungry"),
    ],
)
def test_a_file_that_is_no_replay_is_refused(
    tmp_path: Path, content: str | None, told: str
) -> None:
    if content is not None:
        (tmp_path / "x.json").write_text(content)
    done = typed.peck(tmp_path, ENVIRONMENT, "view", "x.json")
    assert done.returncode == 2
    assert told in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.browser
def test_a_game_without_a_script_of_its_own_is_drawn(tmp_path: Path, browser: Browser) -> None:
    crosses = [{"shape": "disc", "cell": [column, 1], "seat": 0, "text": "X"} for column in (0, 1)]
    frame = {"board": {"columns": 3, "rows": 3}, "text": "<b>O</b> is to move."}
    step = {"moves": ["1,1", None], "faults": [None] * 2, "charged_seconds": [0.1, None]}
    document = {
        "format": "peck-frames/1",
        "game": "noughts",
        "seats": 2,
        "configuration": {},
        "clock": {"bank_seconds": 5.0},
        "frames": [
            {**frame, "tokens": crosses[:1], "seats": [{"value": 1}, {"value": 0}]},
            {**frame, "tokens": crosses, "seats": [{"value": 2}, {"value": 0, "note": "waits"}]},
        ],
        "steps": [{**step, "bank_seconds": [4.5, None]}],
        "placements": [1, 2],
        "rewards": [1, 0],
        "verdicts": ["DONE", "DONE"],
    }
    (tmp_path / "game.json").write_text(json.dumps(document))
    names = ["--name", "Ada", "--name", "<i>Bo</i>"]
    with page_of(tmp_path, "view", "game.json", "--no-browser", *names) as address:
        answer(address)
        page = browser.new_page(reduced_motion="reduce")
        page.goto(address)
        page.wait_for_selector("[data-ready]")
        expect(page.locator(".arena .cell.seat-0")).to_have_count(1)
        expect(page.locator(".frame-text")).to_have_text("<b>O</b> is to move.")
        page.keyboard.press("End")
        expect(page.locator(".arena .cell.seat-0")).to_have_count(2)
        expect(page.locator(".arena .label").first).to_have_text("X")
        expect(page.locator("h1 .spoiler")).to_have_text("Ada beats <i>Bo</i> in 1 step")
        card = page.locator("[data-seat='0']")
        expect(card.locator(".status")).to_have_text("first")
        expect(card.locator(".how")).to_have_text("played 1,1")
        expect(card.locator(".bank")).to_have_text("4.5 s")
        page.close()
