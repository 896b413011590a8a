"""The documentation pages agree with the files and the code that they name."""

from __future__ import annotations

import gzip
import importlib
import itertools
import re
import sys
from dataclasses import fields
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from typer.main import get_group

from games.episode import EpisodeError, to_bytes
from games.hungry_geese import HungryGeese
from ladder.settings import SetupSettings
from sandbox.box.bundle_manifest import Contract, parse_manifest
from sandbox.settings import Settings as NodeSettings
from services.cli.__main__ import full_app
from services.environment_variables import Environment
from tests.unit.games.test_replay_check import SEED, recorded

CHECKOUT = Path(__file__).parents[2]
PAGES = sorted(
    path for pattern in ("*.md", "deploy/*.md", "docs/**/*.md") for path in CHECKOUT.glob(pattern)
)
INDEX = CHECKOUT / "ARCHITECTURE.md"
ARCHITECTURE = sorted((CHECKOUT / "docs" / "architecture").glob("*.md"))
HOW_TO = CHECKOUT / "docs" / "how-to"
REFERENCE = CHECKOUT / "docs" / "reference"
SCHEMA = CHECKOUT / "ladder" / "database" / "schema.sql"
EGRESS = {f"PECK_EGRESS_{name}" for name in ("ALLOW", "DENY", "PORTS")}
LAUNCHED_BY_SHELL = {"PECK_PYTHON"}
MOST_SETTINGS = 42
SET_BY_COMMANDS = {"PECK_PORT", "PECK_MACHINE_SECRET"}
"""What `peck up --port` and `peck machine join` set."""
"""Variables that the script ``peck`` reads before Python starts."""


def prose(page: Path) -> str:
    """The text of a page without its code blocks."""
    return re.sub(r"^ *```.*?^ *```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub forms them."""
    headings = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in headings}


def rows(page: Path) -> list[list[str]]:
    """The cells of each row of a page's tables, header rows included."""
    lines = [line for line in prose(page).splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def blocks(page: Path, language: str) -> list[str]:
    """The code blocks of a language on a page."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)


def code(cell: str) -> list[str]:
    """The pieces of code in a cell."""
    return re.findall(r"`([^`]+)`", cell)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(CHECKOUT)))
def test_links_of_page_lead_to_files_and_headings(page: Path) -> None:
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert broken == []


def variable_of(name: str) -> str:
    return str(SetupSettings.model_fields[name].validation_alias or f"PECK_{name.upper()}")


def test_settings_page_lists_every_variable() -> None:
    listed = {name for row in rows(REFERENCE / "settings.md") for name in code(row[0])}
    known = {variable_of(name) for name in SetupSettings.model_fields} - SET_BY_COMMANDS
    for record in (NodeSettings, Environment):
        known |= {f"PECK_{field.name.upper()}" for field in fields(record)}
    assert listed == known | EGRESS | LAUNCHED_BY_SHELL
    assert len(listed) <= MOST_SETTINGS


def test_compose_files_list_their_variables_at_the_top() -> None:
    used, listed = set(), set()
    for path in (CHECKOUT / "docker-compose.yml", *(CHECKOUT / "deploy").glob("*.compose.yml")):
        text = path.read_text()
        comment = itertools.takewhile(lambda line: line.startswith("#"), text.splitlines())
        used |= set(re.findall(r"\$\{(\w+)[:}]", text))
        listed |= set(re.findall(r"\w+", "\n".join(comment)))
    assert used - listed == set()


def test_settings_page_gives_the_defaults() -> None:
    defaults = {
        code(row[0])[0]: row[1].strip("`")
        for row in rows(REFERENCE / "settings.md")[1:]
        if code(row[0])
    }
    for name, field in SetupSettings.model_fields.items():
        default = "" if field.default is None else str(field.default)
        variable = variable_of(name)
        assert variable in SET_BY_COMMANDS or defaults[variable] == default


def test_command_line_page_lists_every_verb() -> None:
    listed = {name for row in rows(REFERENCE / "command-line.md") for name in code(row[1])}
    known = set()
    for name, command in get_group(full_app()).commands.items():
        if not command.hidden:
            known |= {f"{name} {inner}" for inner in getattr(command, "commands", ())} or {name}
    assert listed == known


def test_glossary_names_places_that_exist() -> None:
    tables = set(re.findall(r"^create table (\w+)", SCHEMA.read_text(), re.MULTILINE))
    places = [code(row[-1]) for row in rows(CHECKOUT / "docs" / "glossary.md")]
    missing = [
        place
        for (place,) in filter(None, places)
        if place not in tables and not (CHECKOUT / place).exists()
    ]
    assert missing == []


def test_glossary_gives_each_word_once() -> None:
    words = [row[0] for row in rows(CHECKOUT / "docs" / "glossary.md") if row[0] != "word"]
    assert len(words) == len(set(words))


def test_readme_has_less_than_900_words() -> None:
    assert len((CHECKOUT / "README.md").read_text().split()) < 900


@pytest.mark.parametrize("page", ARCHITECTURE, ids=lambda page: page.stem)
def test_architecture_page_has_less_than_900_words(page: Path) -> None:
    assert len(page.read_text().split()) < 900


@pytest.mark.parametrize("page", ARCHITECTURE, ids=lambda page: page.stem)
def test_architecture_page_has_a_picture(page: Path) -> None:
    assert blocks(page, "mermaid") or "![" in prose(page)


def test_architecture_page_is_in_the_index() -> None:
    pages = {f"docs/architecture/{page.name}" for page in ARCHITECTURE}
    linked = re.findall(r"^\| \[[^]]+\]\((docs/[^)]+)\)", INDEX.read_text(), re.MULTILINE)
    assert sorted(linked) == sorted(pages)


def test_agent_of_quick_start_plays_to_the_end() -> None:
    (text,) = blocks(CHECKOUT / "docs" / "quick-start.md", "python")
    game, chance = HungryGeese(), Random(1)
    configuration = game.configure({"episodeSteps": 30})
    state, _ = game.reset(configuration, 2, chance)
    agents: list[dict[str, Any]] = [{}, {}]
    for defined in agents:
        exec(text, defined)
    while seats := game.to_move(state):
        moves = {}
        for seat in seats:
            seen = SimpleNamespace(**game.observe(state, seat))
            answer = agents[seat]["agent"](seen, SimpleNamespace(**configuration))
            moves[seat] = game.parse(state, seat, answer)
        state, _ = game.step(state, moves, chance)
    assert game.outcome(state) is not None


def test_audit_page_checks_the_replay_of_a_match(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program = blocks(HOW_TO / "audit-a-result.md", "python")[0]
    replay = tmp_path / "episode-1-replay.json"
    replay.write_bytes(gzip.decompress(to_bytes(recorded())))
    monkeypatch.setattr(sys, "argv", ["audit.py", str(replay), SEED.hex()])
    exec(program, {})
    assert f"placements={recorded().placements}" in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", ["audit.py", str(replay), bytes(16).hex()])
    with pytest.raises(EpisodeError, match="another start than the seed gives"):
        exec(program, {})


def test_manifests_of_agent_page_name_each_contract_of_a_program() -> None:
    found = [parse_manifest(text.encode()) for text in blocks(HOW_TO / "write-an-agent.md", "json")]
    assert [one.contract for one in found] == [Contract.LINES, Contract.RIDDLES, Contract.HTTP]


@pytest.mark.parametrize("name", ["docker-compose.yml", "deploy/kubernetes/node-daemonset.yaml"])
def test_health_checks_call_functions_that_exist(name: str) -> None:
    text = (Path(__file__).resolve().parents[2] / name).read_text()
    calls = re.findall(r"import pathlib, ([\w.]+) as l; l\.(\w+)\(", text)
    assert calls
    for module, function in calls:
        assert hasattr(importlib.import_module(module), function), function
