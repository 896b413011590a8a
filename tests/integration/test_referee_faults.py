"""Seats that fail in real boxes: each gets its verdict and reason, and the others play on."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path
from typing import Literal

import pytest

from games.protocol import Verdict
from sandbox.match.clock import Clock
from sandbox.match.match_record import PlayedMatch, read_log
from tests.integration.real_node import EAST, RealNode

pytestmark = pytest.mark.bubblewrap

FIRST_MOVE_HANGS = """
import time
def agent(observation, configuration):
    time.sleep(60)
"""
QUICK = Clock(act_seconds=0.3, bank_seconds=0.2)
SHORT = {"episodeSteps": 14}


def _others_played_on(played: PlayedMatch, after: int) -> None:
    assert len(played.episode.steps) >= SHORT["episodeSteps"] - 1 > after
    for report in played.seats[1:]:
        assert (report.verdict, report.reason, report.failed_step) == (Verdict.DONE, None, None)
        assert read_log(report.log)["verdict"] == "DONE"


@pytest.mark.parametrize(
    ("source", "verdict", "step", "words"),
    [
        ("raise RuntimeError('boom')", Verdict.ERROR, 1, ["RuntimeError: boom", "main.py line 1"]),
        ("import not_there", Verdict.ERROR, 1, ["not_there"]),
        ("def agent(:", Verdict.ERROR, 1, ["SyntaxError"]),
        ("x = 1", Verdict.ERROR, 1, ["callable"]),
        (
            """
            def agent(observation, configuration):
                if observation.step == 9:
                    return {}["key"]
                return "EAST"
            """,
            Verdict.ERROR,
            10,
            ["KeyError: 'key'", "step 10", "main.py line 4", "(observation.step 9)"],
        ),
        ("def agent(o): return 'east'", Verdict.INVALID, 1, ["NORTH", "'east'"]),
        ("def agent(o): return 7", Verdict.INVALID, 1, ["got 7"]),
        ("def agent(o): return ['EAST']", Verdict.INVALID, 1, ["NORTH"]),
        ("def agent(o): return float('nan')", Verdict.INVALID, 1, ["step 1"]),
        ("def agent(o): return 10**2000", Verdict.INVALID, 1, ["step 1"]),
        ("def agent(o): return object()", Verdict.INVALID, 1, ["object"]),
        ("def agent(o): return 'x' * 10**6", Verdict.INVALID, 1, ["step 1"]),
        ("def agent(o): return '\\ud800'", Verdict.INVALID, 1, ["step 1"]),
        ("import sys\ndef agent(o): sys.exit(3)", Verdict.ERROR, 1, ["exited with code 3"]),
        ("import os\ndef agent(o): os._exit(0)", Verdict.ERROR, 1, ["exited with code 0"]),
        (
            "import os, signal\ndef agent(o): os.kill(os.getpid(), signal.SIGSEGV)",
            Verdict.ERROR,
            1,
            ["SIGSEGV"],
        ),
        ("import os\ndef agent(o): os.closerange(3, 64)", Verdict.ERROR, 1, ["step 1"]),
    ],
)
def test_a_failing_seat_gets_a_verdict_with_reason_and_step(
    node: RealNode,
    tmp_path: Path,
    source: str,
    verdict: Verdict,
    step: int,
    words: list[str],
) -> None:
    played = node.play(tmp_path, [source, EAST, EAST, EAST], configuration=SHORT)
    report = played.seats[0]
    assert report.verdict is verdict, report.reason
    assert report.failed_step == step
    assert report.reason is not None
    for word in words:
        assert word in report.reason
    assert (report.placement, report.reward) == (4, None)
    assert played.episode.steps[step - 1].moves[0] == {"fault": str(verdict)}
    assert played.episode.steps[step].moves[0] is None
    assert read_log(report.log)["reason"] == report.reason
    _others_played_on(played, after=step)


@pytest.mark.parametrize(
    "body",
    [
        "time.sleep(60)",
        "\n            while True: pass",
        "\n            while True: print('x' * 1000)",
    ],
)
def test_a_seat_beyond_its_bank_times_out(node: RealNode, tmp_path: Path, body: str) -> None:
    source = f"""
    import time
    def agent(observation, configuration):
        if observation.step == 2:
            {body}
        return "EAST"
    """
    played = node.play(tmp_path, [source, EAST, EAST, EAST], configuration=SHORT, clock=QUICK)
    report, step = played.seats[0], played.episode.steps[2]
    assert report.verdict is Verdict.TIMEOUT, report.reason
    assert report.failed_step == 3
    assert report.reason is not None
    assert "0.3 s" in report.reason
    charged, bank = step.charged_seconds[0], step.bank_seconds[0]
    assert charged is not None
    assert charged > 0.5
    assert bank is not None
    assert bank < 0
    _others_played_on(played, after=3)


def test_a_seat_beyond_its_memory_fails_with_the_limit_named(
    node: RealNode, tmp_path: Path
) -> None:
    source = """
    hoard = []
    def agent(observation, configuration):
        while observation.step == 3:
            hoard.append(b"x" * (1 << 20))
        return "EAST"
    """
    played = node.play(tmp_path, [source, EAST, EAST, EAST], configuration=SHORT, memory_mb=128)
    report = played.seats[0]
    assert (report.verdict, report.failed_step) == (Verdict.ERROR, 4), report.reason
    assert report.reason is not None
    # Without control groups the interpreter hits the limit and raises.
    assert "128 MB of memory" in report.reason or "MemoryError" in report.reason
    _others_played_on(played, after=4)


FIND_SOCKET = """
    import os, socket, stat, time
    def connection():
        for fd in range(3, 64):
            try:
                if stat.S_ISSOCK(os.fstat(fd).st_mode):
                    return socket.socket(fileno=os.dup(fd))
            except OSError:
                pass
    sock = connection()
"""


@pytest.mark.parametrize(
    ("attack", "sleep", "word"),
    [
        ("sock.send(b'x' * 100000)", 60, "more than the 16384 bytes"),
        ("sock.send(b'\\xff' * 4)", 60, "malformed"),
        ("sock.send(b'{}')", 60, "malformed"),
        ("sock.send(b'[' * 9000)", 60, "malformed"),
        ("""sock.send(b'{"k":"ready"}')""", 60, "not asked"),
        ("""sock.send(b'{"k":"reply","n":1,"action":0}')""", 60, "not asked"),
        ("""sock.send(b'{"k":"reply","n":1,"action":0}')""", 0, "protocol"),
        ("sock.send(b'')", 60, "step 6"),
        ("sock.shutdown(socket.SHUT_RDWR)", 60, "step 6"),
    ],
)
def test_writing_on_the_connection_of_the_referee_fails_the_seat(
    node: RealNode, tmp_path: Path, attack: str, sleep: int, word: str
) -> None:
    source = f"""{FIND_SOCKET}
    def agent(observation, configuration):
        if observation.step == 5:
            {attack}
            time.sleep({sleep})
        return "EAST"
    """
    played = node.play(tmp_path, [source, EAST, EAST, EAST], configuration=SHORT)
    report = played.seats[0]
    assert (report.verdict, report.failed_step) == (Verdict.ERROR, 6), report.reason
    assert report.reason is not None
    assert word in report.reason
    _others_played_on(played, after=6)


def test_bytes_between_two_questions_are_not_an_answer(node: RealNode, tmp_path: Path) -> None:
    source = f"""{FIND_SOCKET}
    import threading, time
    def meddle():
        time.sleep(0.1)
        sock.send(b"?")
    def agent(observation, configuration):
        if observation.step == 5:
            threading.Thread(target=meddle).start()
        if observation.step > 5:
            time.sleep(0.15)
        return "EAST"
    """
    played = node.play(tmp_path, [source, EAST, EAST, EAST], configuration=SHORT)
    report = played.seats[0]
    assert report.verdict is Verdict.ERROR, report.reason
    assert report.reason is not None
    assert "protocol" in report.reason
    _others_played_on(played, after=10)


@pytest.mark.parametrize(
    ("source", "verdict", "words"),
    [
        ("import time\ntime.sleep(60)", Verdict.TIMEOUT, ["still loading after 1 s"]),
        ("raise RuntimeError('boom')", Verdict.ERROR, ["while the agent was loading", "boom"]),
        ("import os\nos._exit(4)", Verdict.ERROR, ["code 4", "loading"]),
    ],
)
def test_a_failure_while_loading_is_reported_at_step_zero(
    node: RealNode, tmp_path: Path, source: str, verdict: Verdict, words: list[str]
) -> None:
    clock = Clock(load="own", load_seconds=1.0)
    played = node.play(tmp_path, [source, EAST, EAST, EAST], configuration=SHORT, clock=clock)
    report = played.seats[0]
    assert (report.verdict, report.failed_step) == (verdict, 0), report.reason
    assert report.reason is not None
    for word in words:
        assert word in report.reason
    assert played.episode.steps[0].moves[0] == {"fault": str(verdict)}
    assert played.episode.steps[0].charged_seconds[0] is None
    _others_played_on(played, after=1)


@pytest.mark.parametrize("load", ["own", "first_move"])
@pytest.mark.parametrize("at_import", [True, False])
def test_a_time_out_reason_names_an_unfinished_import(
    node: RealNode, tmp_path: Path, load: Literal["own", "first_move"], at_import: bool
) -> None:
    clock = Clock(act_seconds=0.3, bank_seconds=0.2, load=load, load_seconds=1.0)
    hangs = "import time\ntime.sleep(60)" if at_import else FIRST_MOVE_HANGS
    report = node.play(tmp_path, [hangs, EAST, EAST, EAST], configuration=SHORT, clock=clock).seats[
        0
    ]
    step = 0 if at_import and load == "own" else 1
    assert (report.verdict, report.failed_step) == (Verdict.TIMEOUT, step), report.reason
    assert report.reason is not None
    assert ("main.py was still being imported" in report.reason) is at_import
    assert "contract http" not in report.reason


def test_a_refused_bundle_fails_only_its_seat(node: RealNode, tmp_path: Path) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        archive.addfile(tarfile.TarInfo("../main.py"))
    bad = tmp_path / "bad.tar.gz"
    bad.write_bytes(packed.getvalue())
    good = tmp_path / "good.py"
    good.write_text(EAST)
    played = node.play_files([bad, good, good, good], configuration=SHORT)
    report = played.seats[0]
    assert (report.verdict, report.failed_step) == (Verdict.ERROR, 0)
    assert report.reason is not None
    assert "../main.py" in report.reason
    _others_played_on(played, after=1)


FAILS_IN_SEAT_1 = """
def agent(observation, configuration):
    if observation.index == 1 and observation.step == 4:
        return {}["key"]
    return "EAST"
"""


def test_a_validation_stops_at_the_first_fault_of_a_copy(node: RealNode, tmp_path: Path) -> None:
    played = node.play(tmp_path, [FAILS_IN_SEAT_1] * 4, stops_at_fault=True)
    assert len(played.episode.steps) == 6  # the others play the step of the fault, then no more
    first = played.seats[1]
    assert (first.verdict, first.failed_step) == (Verdict.ERROR, 5)
    assert "KeyError: 'key'" in str(first.reason)
    for copy in (played.seats[0], *played.seats[2:]):
        assert (copy.verdict, copy.failed_step) == (Verdict.ERROR, 6)
        assert "Another copy of this agent failed" in str(copy.reason)
