"""The guarantees for honest agents, on every launcher."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sandbox.match.loans import MoveLog
from tests.integration.sandbox.nodes import Bench, Probe

CHOOSER = """
import random
import numpy as np

def agent(observation, configuration):
    return [random.choice("NESW"), int(np.random.randint(1000)), list({"a", "b", "c"})]
"""

TALKER = """
import os, sys
print("import")

def agent(observation, configuration):
    print("out", observation.step)
    os.write(1, b"raw\\n")
    print("err", observation["step"], file=sys.stderr)
    return configuration.rows
"""


@pytest.fixture(scope="module")
def probe(bench: Bench) -> Iterator[Probe]:
    with bench.prober() as asked:
        yield asked


def test_an_agent_with_numpy_plays(bench: Bench) -> None:
    with bench.seat(bench.bundle(CHOOSER), "numpy") as player:
        assert player.start() == {"k": "ready"}
        for step in range(20):
            assert player.move(step=step)[0] in "NESW"
        ending = player.loan.end()
    assert (ending.exit_code, ending.signal, ending.out_of_memory) == (None, None, False)
    assert ending.clean
    assert ending.log == ()


@pytest.mark.same_in_every_launcher
def test_the_same_seed_gives_the_same_moves(bench: Bench) -> None:
    bundle = bench.bundle(CHOOSER)
    moves = []
    for seed in ("ab" * 16, "ab" * 16, "cd" * 16):
        with bench.seat(bundle, "numpy") as player:
            player.start(seed=seed)
            moves.append([player.move(step=step) for step in range(8)])
    assert moves[0] == moves[1]
    assert moves[0] != moves[2]


@pytest.mark.same_in_every_launcher
def test_printed_output_is_kept_per_move(bench: Bench) -> None:
    with bench.seat(bench.bundle(TALKER)) as player:
        player.start()
        assert [player.move(step=step) for step in (0, 1)] == [7, 7]
        log = player.loan.end().log
    assert log == (
        MoveLog(0, "import\n", ""),
        MoveLog(1, "out 0\nraw\n", "err 0\n"),
        MoveLog(2, "out 1\nraw\n", "err 1\n"),
    )


@pytest.mark.same_in_every_launcher
def test_a_module_can_be_loaded_in_the_first_move(bench: Bench) -> None:
    with bench.seat(bench.bundle(TALKER)) as player:
        assert player.start(load="first_move") == {"k": "ready"}
        player.move(step=0)
        assert player.loan.end().log[0] == MoveLog(1, "import\nout 0\nraw\n", "err 0\n")


@pytest.mark.same_in_every_launcher
def test_an_archive_with_modules_and_data_plays(bench: Bench) -> None:
    import io
    import tarfile

    files = {
        "main.py": b"import helper\ndef agent(obs):\n    return helper.answer(__file__)\n",
        "helper.py": b"import os\nHERE = os.path.dirname(__file__)\n"
        b"def answer(_):\n    return open(HERE + '/data/x.txt').read()\n",
        "data/x.txt": b"forty-two",
    }
    files["main.py"] = b"import helper\ndef agent(obs):\n    return helper.answer(0)\n"
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    path = bench.folder / "helped.tar.gz"
    path.write_bytes(buffer.getvalue())
    with bench.seat(path) as player:
        assert player.start() == {"k": "ready"}
        assert player.move(step=0) == "forty-two"


@pytest.mark.same_in_every_launcher
def test_the_last_callable_is_the_agent(bench: Bench) -> None:
    source = "def helper(a, b, c):\n    return 1\ndef agent():\n    return 'none taken'\n"
    assert bench.findings(source, step=0) == "none taken"


@pytest.mark.same_in_every_launcher
def test_an_unsendable_answer_is_marked(probe: Probe) -> None:
    for expression in ("object()", "float('nan')", "'x' * 20000", "[0] * 10 ** 4", "b'x'"):
        action = probe(f"def agent(obs):\n    return {expression}\n")
        assert "__unsendable__" in action, expression


def test_an_agent_may_write_temporary_files(probe: Probe) -> None:
    source = """
import os, tempfile
def agent(obs):
    with tempfile.NamedTemporaryFile("w+") as file:
        file.write("x" * 100_000)
        file.flush()
        return [os.path.getsize(file.name), os.getcwd()]
"""
    assert probe(source) == [100_000, "/kaggle_simulations/agent"]


def test_an_agent_may_start_the_interpreter_again(probe: Probe) -> None:
    source = """
import subprocess, sys
def agent(obs):
    program = [sys.executable, "-c", "import decimal; print(decimal.Decimal(6) * 7)"]
    return subprocess.run(program, capture_output=True, text=True, check=True).stdout.strip()
"""
    assert probe(source) == "42"


def test_an_agent_may_import_modules_unknown_to_the_zygote(probe: Probe) -> None:
    source = """
def agent(obs):
    import asyncio, bz2, concurrent.futures, csv, ctypes.util, dataclasses, decimal, enum
    import hashlib, lzma, multiprocessing, pickle, secrets, sqlite3, statistics, typing, zlib
    return hashlib.sha256(zlib.compress(pickle.dumps(decimal.Decimal(1)))).digest_size
"""
    assert probe(source) == 32
