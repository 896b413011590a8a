"""The permitted content of peck.json, and the messages for other content."""

from __future__ import annotations

import contextlib
import io
import json
import random
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.box import agent_program, bundle_manifest, http_contract, unpack
from sandbox.box.bundle_manifest import Contract, ContractError, Manifest
from sandbox.box.http_contract import HttpClient


def _parse(value: Any) -> Manifest:
    return bundle_manifest.parse_manifest(json.dumps(value).encode())


def test_without_a_manifest_main_py_is_called(tmp_path: Path) -> None:
    manifest = bundle_manifest.read_manifest(str(tmp_path))
    assert (manifest.contract, manifest.program) == (Contract.CALLABLE, "main.py")


@pytest.mark.parametrize(
    ("value", "program", "is_python"),
    [
        ({}, "main.py", False),
        ({"contract": "lines", "entry": ["python", "bots/a.py", "-v"]}, "bots/a.py", True),
        ({"contract": "riddles", "entry": ["python3", "-u", "./bot.py"]}, "bot.py", True),
        ({"contract": "http", "entry": ["./server", "--port", "1"]}, "server", False),
        ({"contract": "http", "entry": ["python", "s.py"], "api": "2017"}, "s.py", True),
    ],
)
def test_a_manifest_names_its_program(value: Any, program: str, is_python: bool) -> None:
    manifest = _parse(value)
    assert (manifest.program, manifest.is_python) == (program, is_python)


def test_a_byte_order_mark_is_ignored() -> None:
    assert (
        bundle_manifest.parse_manifest(b'\xef\xbb\xbf{"contract": "callable"}').contract
        is Contract.CALLABLE
    )


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([], "must be an object"),
        ({"contract": "ftp"}, 'contract: must be one of "callable", "lines"'),
        ({"contract": ["lines"]}, "contract: must be one of"),
        ({"contracts": "lines"}, "'contracts': is unknown; known are contract, entry, api"),
        ({"entry": ["python", "a.py"]}, "entry: contract callable executes main.py"),
        ({"contract": "lines"}, "entry: contract lines starts a program; name it"),
        ({"contract": "lines", "entry": "bot.py"}, "entry: must be a list"),
        ({"contract": "lines", "entry": []}, "entry: must be a list"),
        ({"contract": "lines", "entry": ["python"]}, "comes a file of the bundle"),
        ({"contract": "lines", "entry": ["python", "-m", "x"]}, "without options"),
        (
            {"contract": "lines", "entry": ["python", "bot\0.py"]},
            r"entry: 'bot\x00.py' holds a NUL character, which no command can; remove it",
        ),
        ({"contract": "lines", "entry": ["/bin/sh"]}, "must be a file of the bundle"),
        ({"contract": "lines", "entry": ["python", "../x.py"]}, "must be a file of the bundle"),
        ({"contract": "lines", "entry": ["a", 1]}, "each word must be a text"),
        ({"contract": "lines", "entry": ["\ud800"]}, "each word must be a text"),
        ({"contract": "lines", "entry": ["a"], "api": "1"}, "api: is for contract http"),
        ({"contract": "http", "entry": ["a"], "api": 1}, 'api: must be "1" or "2017"'),
        ({"contract": "http", "entry": ["a"], "api": []}, 'api: must be "1" or "2017"'),
    ],
)
def test_a_wrong_field_is_named_with_the_remedy(value: Any, words: str) -> None:
    with pytest.raises(ContractError) as error:
        _parse(value)
    assert words in str(error.value)


@given(st.one_of(st.binary(max_size=60), st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["contract", "entry", "api", "x"]), inner, max_size=4),
).map(lambda value: json.dumps(value).encode())))  # fmt: skip
def test_arbitrary_bytes_never_crash_the_manifest_parser(text: bytes) -> None:
    with contextlib.suppress(ContractError):
        assert ".." not in bundle_manifest.parse_manifest(text).program


def test_an_oversized_manifest_is_refused(tmp_path: Path) -> None:
    (tmp_path / "peck.json").write_text(" " * 20_000)
    with pytest.raises(ContractError, match="longer than"):
        bundle_manifest.read_manifest(str(tmp_path))


def _snake(number: int, body: list[tuple[int, int]]) -> dict[str, Any]:
    cells = [{"x": x, "y": y} for x, y in body]
    told = {"id": f"s{number}", "name": f"snake {number}", "health": 90 - number, "body": cells}
    return {**told, "head": cells[0], "length": len(cells), "shout": "", "latency": "0"}


def test_the_2017_api_flips_the_board() -> None:
    snakes = [_snake(0, [(1, 9), (1, 8)]), _snake(1, [(3, 0)])]
    board = {"width": 11, "height": 10, "food": [{"x": 5, "y": 2}], "snakes": snakes}
    seen = {"game": {"id": "g"}, "turn": 4, "board": board, "you": snakes[1]}
    assert http_contract.start_body_2017(seen) == {"game_id": "g", "width": 11, "height": 10}
    told = http_contract.move_body_2017(seen, [])
    assert (told["you"], told["turn"], told["food"]) == ("s1", 4, [[5, 7]])
    assert [snake["coords"] for snake in told["snakes"]] == [[[1, 0], [1, 1]], [[3, 9]]]
    assert [snake["health_points"] for snake in told["snakes"]] == [90, 89]


def test_flipping_the_board_twice_restores_the_board() -> None:
    draw = random.Random(4)
    for _ in range(50):
        height = draw.randrange(3, 20)
        cells = [(draw.randrange(9), draw.randrange(height)) for _ in range(5)]
        snake = _snake(0, cells)
        board = {"width": 9, "height": height, "food": [], "snakes": [snake]}
        seen = {"game": {"id": "g"}, "turn": 0, "board": board, "you": snake}
        turned = http_contract.move_body_2017(seen, [])["snakes"][0]["coords"]
        assert [(x, height - 1 - y) for x, y in turned] == cells


@pytest.mark.parametrize("you", [0, 1])
def test_riddles_updates_follow_the_engines_order(you: int) -> None:
    seen = {"round": 3, "field": ".,0,1", "living": [1, 2], "you": you, "opponent_move": None}
    moved = [f"update player{1 - you} move null"]
    counts = [["update player0 living_cells 1"], ["update player1 living_cells 2"]]
    counts[1 - you] += moved
    expected = ["update game round 3", "update game field .,0,1", *counts[0], *counts[1]]
    assert agent_program.build_update_lines(seen) == expected


@pytest.mark.parametrize(
    ("files", "entry", "word"),
    [
        ({"peck.json": b"{"}, "peck.json", "no JSON text"),
        ({"peck.json": b'{"entry": ' + b"[" * 900 + b"]" * 900 + b"}"}, "peck.json", "many lists"),
        ({"peck.json": b'{"contract": "ftp"}'}, "peck.json", '"callable", "lines", "riddles"'),
        ({"peck.json": b'{"contract": "lines"}'}, "peck.json", "entry: .+ starts a program"),
        ({"peck.json": b'{"contract": "lines", "entry": ["./bot"]}'}, "peck.json", "no file of"),
        ({"peck.json": b'{"contract": "callable"}'}, None, r"no main\.py at the root"),
        ({"a/peck.json": b"{}"}, None, "there is 'a/peck.json': pack the folder's content"),
    ],
)
def test_an_inconsistent_manifest_is_refused_at_unpacking(
    tmp_path: Path, files: dict[str, bytes], entry: str | None, word: str
) -> None:
    with pytest.raises(unpack.ArchiveRefused, match=word) as refused:
        unpack.unpack(_zipped(files), str(tmp_path), 1 << 20)
    assert refused.value.entry == entry


def test_the_named_program_becomes_executable(tmp_path: Path) -> None:
    manifest = b'{"contract": "lines", "entry": ["bin/bot", "x"]}'
    unpack.unpack(_zipped({"peck.json": manifest, "bin/bot": b"#"}), str(tmp_path), 1 << 20)
    assert (tmp_path / "bin" / "bot").stat().st_mode & 0o777 == 0o755


def _zipped(files: dict[str, bytes]) -> io.BytesIO:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    buffer.seek(0)
    return buffer


def test_a_server_gets_the_full_time_of_the_clock(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[str, float | None]] = []

    def call(_: Any, method: str, path: str, body: str, seconds: float | None) -> tuple[int, bytes]:
        asked.append((path, seconds))
        return 200, b'{"move": "up"}'

    monkeypatch.setattr(http_contract, "AgentProgram", lambda *_, **__: None)
    monkeypatch.setattr(HttpClient, "try_connect", lambda _: True)
    monkeypatch.setattr(HttpClient, "call", call)
    server = http_contract.HttpAgent(Manifest(Contract.HTTP, ("python", "bot.py")), "/nowhere")
    server.start({"clock": {"act_seconds": 2.0}})
    seen = {"game": {"timeout": 500}, "turn": 0, "board": {}, "you": {}}
    assert server.move({**seen, "remainingOverageTime": 1.0}) == {"move": "up"}
    assert [path for path, _ in asked] == ["/", "/start", "/move"]
    assert all(seconds is None or seconds > 3.0 for _, seconds in asked)
