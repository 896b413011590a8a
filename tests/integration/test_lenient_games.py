"""A forgiven answer lets the seat play on, and affects no other seat."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from games.protocol import Verdict
from sandbox.match.clock import Clock
from sandbox.match.match_record import PlayedMatch, read_log
from tests.integration.counting import Counting
from tests.integration.real_node import RealNode

pytestmark = pytest.mark.bubblewrap

LENIENT = Counting(Verdict.TIMEOUT, Verdict.INVALID, Verdict.ERROR)
CLOCK = Clock(act_seconds=0.4, bank_seconds=0.0, load="own", load_seconds=10.0)
FEW: dict[str, Any] = {"configuration": {"steps": 3}}
HONEST = "def agent(o): return o.step\n"
LATE, INVALID, ERROR = ({"fault": str(one)} for one in ("TIMEOUT", "INVALID", "ERROR"))


def _play(node: RealNode, folder: Path, source: str, **more: Any) -> PlayedMatch:
    options = {"game": LENIENT, "clock": CLOCK, "configuration": {"steps": 6}, **more}
    return node.play(folder, [source, HONEST], **options)


def _all_right(played: PlayedMatch, seat: int) -> None:
    assert _moves(played, seat) == list(range(6))


def _moves(played: PlayedMatch, seat: int = 0) -> list[Any]:
    return [step.moves[seat] for step in played.episode.steps]


def test_a_forgiven_answer_costs_only_one_move(node: RealNode, tmp_path: Path) -> None:
    source = """
    def agent(o):
        if o.step == 1:
            return "one"
        if o.step in (2, 3):
            raise ValueError("no idea")
        return object() if o.step == 4 else o.step
    """
    played = _play(node, tmp_path, source)
    assert _moves(played) == [0, INVALID, ERROR, ERROR, INVALID, 5]
    assert _moves(played, 1) == [0, 1, 2, 3, 4, 5]
    report = played.seats[0]
    assert (report.verdict, report.reason) == (Verdict.DONE, None)
    assert report.pardoned == {Verdict.INVALID: 2, Verdict.ERROR: 2}
    told = read_log(report.log)["pardoned"]
    assert (told["ERROR"]["times"], told["ERROR"]["step"]) == (2, 3)
    assert "no idea" in told["ERROR"]["reason"]
    assert played.seats[1].pardoned == {}


def test_a_late_answer_is_dropped(node: RealNode, tmp_path: Path) -> None:
    source = """
    import time
    def agent(o):
        if o.step == 0:
            time.sleep(1.3)
        return o.step
    """
    played = _play(node, tmp_path, source)
    moves = _moves(played)
    late = moves.count(LATE)
    # The rest of the sleep passes in the next questions. On a loaded machine they last longer.
    assert 1 <= late <= 4, moves
    assert moves == [LATE] * late + [0, 1, 2, 3, 4, 5][late:]
    assert played.seats[0].pardoned == {Verdict.TIMEOUT: late}
    assert {step.bank_seconds[0] for step in played.episode.steps[4:]} == {0.0}
    assert played.seats[0].verdict is Verdict.DONE
    assert _moves(played, 1) == list(range(6))
    assert played.seats[1].max_move_seconds < 1.0


def test_a_silent_seat_is_asked_until_the_end(node: RealNode, tmp_path: Path) -> None:
    played = _play(node, tmp_path, "import time\ndef agent(o): time.sleep(60)\n", **FEW)
    assert _moves(played) == [LATE] * 3
    report = played.seats[0]
    assert report.verdict is Verdict.TIMEOUT
    assert report.reason is not None
    assert "had no answer after" in report.reason
    assert report.failed_step == 1
    assert _moves(played, 1) == [0, 1, 2]


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ("os._exit(3)", "exited with code 3"),
        ("sock.send(b'?')\n            time.sleep(60)", "protocol"),
        ("threading.Thread(target=flood).start()\n            time.sleep(0.6)", "protocol"),
    ],
)
def test_an_exit_or_a_protocol_error_ends_the_seat(
    node: RealNode, tmp_path: Path, body: str, word: str
) -> None:
    source = f"""
    import os, socket, stat, threading, time
    def connection():
        for fd in range(3, 64):
            try:
                if stat.S_ISSOCK(os.fstat(fd).st_mode):
                    return socket.socket(fileno=os.dup(fd))
            except OSError:
                pass
    sock = connection()
    def flood():
        time.sleep(0.45)
        while True:
            sock.send(b'{{"k":"reply","n":1,"action":0}}')
    def agent(o):
        if o.step == 1:
            {body}
        return o.step
    """
    played = _play(node, tmp_path, source)
    report = played.seats[0]
    assert report.reason is not None
    assert word in report.reason, report.reason
    assert _moves(played)[3:] == [ERROR] * 3, "its verdict is told at every step"
    assert [step.charged_seconds[0] for step in played.episode.steps][3:] == [None] * 3
    assert _moves(played, 1) == [0, 1, 2, 3, 4, 5]


def test_off_turn_computation_costs_no_move_of_either_seat(node: RealNode, tmp_path: Path) -> None:
    ponders = """
    import threading
    def spin():
        while True:
            pass
    def agent(o):
        if o.step == 0:
            threading.Thread(target=spin, daemon=True).start()
        return o.step
    """
    slow = "import time\ndef agent(o):\n    time.sleep(0.05)\n    return o.step\n"
    played = node.play(tmp_path, [ponders, slow], game=LENIENT, clock=CLOCK, max_parallel_seats=1)
    _all_right(played, 0)
    _all_right(played, 1)


def test_a_game_forgives_only_its_declared_kinds_of_fault(node: RealNode, tmp_path: Path) -> None:
    source = "def agent(o): return 'x' if o.step == 1 else o.step if o.step < 3 else 1 / 0\n"
    played = _play(node, tmp_path, source, game=Counting(Verdict.INVALID))
    assert _moves(played) == [0, INVALID, 2, ERROR, ERROR, ERROR]
    assert played.seats[0].pardoned == {Verdict.INVALID: 1}
    assert played.seats[0].failed_step == 4
