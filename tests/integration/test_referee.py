"""Matches between real processes in real boxes: what each seat gets for what it does."""

from __future__ import annotations

import io
import itertools
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from games.episode import from_bytes, states, to_bytes
from games.protocol import Verdict
from sandbox.clock import Clock
from sandbox.errors import HostFault
from sandbox.record import Played, SeatReport, read_log
from tests.integration import real_node
from tests.integration.real_node import EAST, GEESE, SEED, RealNode

pytestmark = pytest.mark.bubblewrap

WANDERER = """
    import random
    WAYS = (("NORTH", -1, 0), ("SOUTH", 1, 0), ("EAST", 0, 1), ("WEST", 0, -1))
    def agent(observation, configuration):
        rows, columns = configuration.rows, configuration.columns
        head = observation.geese[observation.index][0]
        taken = {cell for goose in observation.geese for cell in goose}
        free = []
        for move, down, right in WAYS:
            cell = (head // columns + down) % rows * columns + (head % columns + right) % columns
            if cell not in taken:
                free.append(move)
        return random.choice(free or ["NORTH"])
"""
QUICK = Clock(act_seconds=0.3, bank_seconds=0.5)


@pytest.fixture(scope="module")
def node() -> Iterator[RealNode]:
    real_node.require("bubblewrap")
    with real_node.running("bubblewrap") as running:
        yield running


def _log(report: SeatReport) -> dict[str, Any]:
    return read_log(report.log)


def _printed(report: SeatReport, stream: str = "stdout") -> dict[int, str]:
    return {move["step"]: move[stream] for move in _log(report)["moves"] if move[stream]}


def _others_played_on(played: Played, after: int) -> None:
    assert len(played.episode.steps) >= 40 > after
    for report in played.seats[1:]:
        assert (report.verdict, report.reason, report.failed_step) == (Verdict.DONE, None, None)
        assert _log(report)["verdict"] == "DONE"


def test_an_honest_match_replays_exactly_from_its_record(node: RealNode, tmp_path: Path) -> None:
    played = node.play(tmp_path, [WANDERER] * 4)
    episode = from_bytes(to_bytes(played.episode))
    last = list(states(GEESE, episode))[-1]
    outcome = GEESE.outcome(last)
    assert outcome is not None
    assert outcome.placements == episode.placements
    assert outcome.rewards == episode.rewards
    assert episode.verdicts == ("DONE",) * 4
    for seat, report in enumerate(played.seats):
        asked = [step.charged_seconds[seat] for step in episode.steps]
        charged = [seconds for seconds in asked if seconds is not None]
        assert len(charged) == len(_log(report)["moves"])
        assert report.charged_seconds == pytest.approx(sum(charged), abs=1e-3)
        assert report.max_move_seconds == max(charged)


def test_the_same_seed_gives_the_same_moves_and_another_seed_another_game(
    node: RealNode, tmp_path: Path
) -> None:
    def moves(seed: bytes) -> list[Any]:
        steps = node.play(tmp_path, [WANDERER] * 4, seed=seed).episode.steps
        return [(step.moves, step.chance) for step in steps]

    assert moves(SEED) == moves(SEED)
    assert moves(SEED) != moves(bytes(16))


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
                if observation.step == 29:
                    return {}["key"]
                return "EAST"
            """,
            Verdict.ERROR,
            30,
            ["KeyError: 'key'", "step 30", "main.py line 4"],
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
def test_a_seat_that_fails_gets_its_verdict_reason_and_step_and_the_others_play_on(
    node: RealNode,
    tmp_path: Path,
    source: str,
    verdict: Verdict,
    step: int,
    words: list[str],
) -> None:
    played = node.play(tmp_path, [source, EAST, EAST, EAST])
    report = played.seats[0]
    assert report.verdict is verdict, report.reason
    assert report.failed_step == step
    assert report.reason is not None
    for word in words:
        assert word in report.reason
    assert (report.placement, report.reward) == (4, None)
    assert played.episode.steps[step - 1].moves[0] == {"fault": str(verdict)}
    assert played.episode.steps[step].moves[0] is None
    assert _log(report)["reason"] == report.reason
    _others_played_on(played, after=step)


@pytest.mark.parametrize(
    "body",
    [
        "time.sleep(60)",
        "\n            while True: pass",
        "\n            while True: print('x' * 1000)",
    ],
)
def test_a_seat_that_uses_more_than_its_bank_times_out_and_is_charged_for_it(
    node: RealNode, tmp_path: Path, body: str
) -> None:
    source = f"""
    import time
    def agent(observation, configuration):
        if observation.step == 2:
            {body}
        return "EAST"
    """
    played = node.play(tmp_path, [source, EAST, EAST, EAST], clock=QUICK)
    report, step = played.seats[0], played.episode.steps[2]
    assert report.verdict is Verdict.TIMEOUT, report.reason
    assert report.failed_step == 3
    assert report.reason is not None
    assert "0.3 s" in report.reason
    charged, bank = step.charged_seconds[0], step.bank_seconds[0]
    assert charged is not None
    assert charged > 0.8
    assert bank is not None
    assert bank < 0
    _others_played_on(played, after=3)


def test_a_seat_that_takes_more_memory_than_it_has_is_told_the_limit(
    node: RealNode, tmp_path: Path
) -> None:
    source = """
    hoard = []
    def agent(observation, configuration):
        while observation.step == 3:
            hoard.append(b"x" * (1 << 20))
        return "EAST"
    """
    played = node.play(tmp_path, [source, EAST, EAST, EAST], memory_mb=128)
    report = played.seats[0]
    assert (report.verdict, report.failed_step) == (Verdict.ERROR, 4), report.reason
    assert report.reason is not None
    # Without control groups the interpreter itself runs against the limit and raises.
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
        ("sock.sendall(b'x' * 100000)", 60, "protocol"),
        ("sock.sendall(b'\\xff' * 4)", 60, "announced 4294967295"),
        ("sock.sendall(b'\\0' * 4)", 60, "announced 0"),
        ("sock.sendall(frame('{}'))", 60, "no frame"),
        ("sock.sendall(frame('[' * 9000))", 60, "no frame"),
        ("""sock.sendall(frame('{"k":"ready"}'))""", 60, "not asked"),
        ("""sock.sendall(frame('{"k":"reply","n":1,"action":0}'))""", 60, "not asked"),
        ("""sock.sendall(frame('{"k":"reply","n":1,"action":0}'))""", 0, "protocol"),
        ("sock.shutdown(socket.SHUT_RDWR)", 60, "step 6"),
    ],
)
def test_a_seat_that_writes_on_the_referees_connection_is_out(
    node: RealNode, tmp_path: Path, attack: str, sleep: int, word: str
) -> None:
    source = f"""{FIND_SOCKET}
    def frame(text):
        return len(text).to_bytes(4, "big") + text.encode()
    def agent(observation, configuration):
        if observation.step == 5:
            {attack}
            time.sleep({sleep})
        return "EAST"
    """
    played = node.play(tmp_path, [source, EAST, EAST, EAST])
    report = played.seats[0]
    assert (report.verdict, report.failed_step) == (Verdict.ERROR, 6), report.reason
    assert report.reason is not None
    assert word in report.reason
    _others_played_on(played, after=6)


def test_bytes_sent_between_two_questions_are_never_taken_for_an_answer(
    node: RealNode, tmp_path: Path
) -> None:
    source = f"""{FIND_SOCKET}
    import threading, time
    def meddle():
        time.sleep(0.2)
        sock.sendall(b"\\0")
    def agent(observation, configuration):
        if observation.step == 5:
            threading.Thread(target=meddle).start()
        if observation.step > 5:
            time.sleep(0.3)
        return "EAST"
    """
    played = node.play(tmp_path, [source, EAST, EAST, EAST])
    report = played.seats[0]
    assert report.verdict is Verdict.ERROR, report.reason
    assert report.reason is not None
    assert "protocol" in report.reason
    _others_played_on(played, after=10)


def test_none_is_the_move_north(node: RealNode, tmp_path: Path) -> None:
    played = node.play(tmp_path, ["def agent(): pass", EAST], configuration={"episodeSteps": 5})
    assert [step.moves[0] for step in played.episode.steps] == ["NORTH"] * 4
    assert played.seats[0].verdict is Verdict.DONE


SLEEPER = """
    import time
    time.sleep(0.4)
    def agent(observation, configuration):
        print(observation.step, observation.remainingOverageTime)
        if observation.step in (2, 4):
            time.sleep(0.4)
        return "EAST"
"""


def test_the_bank_pays_for_the_import_and_for_each_overrun_once(
    node: RealNode, tmp_path: Path
) -> None:
    clock = Clock(act_seconds=0.2, bank_seconds=60.0)
    played = node.play(tmp_path, [SLEEPER, EAST], clock=clock, configuration={"episodeSteps": 8})
    charges = [step.charged_seconds[0] or 0.0 for step in played.episode.steps]
    banks = [step.bank_seconds[0] or 0.0 for step in played.episode.steps]
    for paid in (0, 2, 4):
        assert charges[paid] > 0.4
    before = [60.0, *banks]
    for charged, was, now in zip(charges, before, banks, strict=False):
        assert now == pytest.approx(was - max(0.0, charged - 0.2), abs=1e-5)
    told = [float(line.split()[1]) for line in _printed(played.seats[0]).values()]
    assert told == pytest.approx(before[:-1], abs=1e-5)


def test_seats_that_think_are_asked_one_lane_at_a_time_and_in_turns(
    node: RealNode, tmp_path: Path
) -> None:
    source = """
    import time
    def agent(observation, configuration):
        began = time.monotonic()
        time.sleep(0.01)
        print(began, time.monotonic())
        return "EAST"
    """
    played = node.play(tmp_path, [source] * 3, lanes=1, configuration={"episodeSteps": 8})
    first_in_step = []
    for step in range(1, 8):
        spans = [tuple(map(float, _printed(seat)[step].split())) for seat in played.seats]
        order = sorted(range(3), key=lambda seat: spans[seat])
        for earlier, later in itertools.pairwise(order):
            assert spans[earlier][1] <= spans[later][0]
        first_in_step.append(order[0])
    assert set(first_in_step) == {0, 1, 2}


def test_with_a_load_allowance_of_its_own_the_import_costs_no_bank(
    node: RealNode, tmp_path: Path
) -> None:
    clock = Clock(act_seconds=0.2, bank_seconds=60.0, load="own")
    source = "import time\nprint('loading')\ntime.sleep(0.4)\n" + EAST
    played = node.play(tmp_path, [source, EAST], clock=clock, configuration={"episodeSteps": 4})
    charged = played.episode.steps[0].charged_seconds[0]
    assert charged is not None
    assert charged < 0.4
    assert _printed(played.seats[0]) == {0: "loading\n"}


@pytest.mark.parametrize(
    ("source", "verdict", "words"),
    [
        ("import time\ntime.sleep(60)", Verdict.TIMEOUT, ["still loading after 1.5 s"]),
        ("raise RuntimeError('boom')", Verdict.ERROR, ["while main.py was loading", "boom"]),
        ("import os\nos._exit(4)", Verdict.ERROR, ["code 4", "loading"]),
    ],
)
def test_a_seat_that_fails_while_loading_is_told_so(
    node: RealNode, tmp_path: Path, source: str, verdict: Verdict, words: list[str]
) -> None:
    clock = Clock(load="own", load_seconds=1.5)
    played = node.play(tmp_path, [source, EAST, EAST, EAST], clock=clock)
    report = played.seats[0]
    assert (report.verdict, report.failed_step) == (verdict, 0), report.reason
    assert report.reason is not None
    for word in words:
        assert word in report.reason
    assert played.episode.steps[0].moves[0] == {"fault": str(verdict)}
    assert played.episode.steps[0].charged_seconds[0] is None
    _others_played_on(played, after=1)


def test_what_an_agent_prints_stands_at_its_step_and_its_traceback_in_its_own_log(
    node: RealNode, tmp_path: Path
) -> None:
    source = """
    import sys
    def agent(observation, configuration):
        print("step", observation.step)
        print("aside", file=sys.stderr)
        if observation.step == 3:
            raise ValueError("enough")
        return "EAST"
    """
    played = node.play(tmp_path, [source, EAST])
    report = played.seats[0]
    assert _printed(report) == {k: f"step {k - 1}\n" for k in (1, 2, 3, 4)}
    assert _printed(report, "stderr")[1] == "aside\n"
    assert "ValueError: enough" in _log(report)["traceback"]
    assert _printed(played.seats[1]) == {}
    assert _log(played.seats[1])["traceback"] is None


def test_a_bundle_that_is_refused_fails_its_seat_alone(node: RealNode, tmp_path: Path) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        archive.addfile(tarfile.TarInfo("../main.py"))
    bad = tmp_path / "bad.tar.gz"
    bad.write_bytes(packed.getvalue())
    good = tmp_path / "good.py"
    good.write_text(EAST)
    played = node.play_files([bad, good, good, good])
    report = played.seats[0]
    assert (report.verdict, report.failed_step) == (Verdict.ERROR, 0)
    assert report.reason is not None
    assert "../main.py" in report.reason
    _others_played_on(played, after=1)


def test_nothing_an_agent_sees_names_the_match_or_its_seed(node: RealNode, tmp_path: Path) -> None:
    source = """
    import os, sys
    def agent(observation, configuration):
        print(sorted(observation), sorted(configuration), dict(os.environ), os.getcwd(), sys.argv)
        return "EAST"
    """
    played = node.play(tmp_path, [source, EAST], configuration={"episodeSteps": 3})
    text = _printed(played.seats[0])[1]
    assert "'food', 'geese', 'index', 'remainingOverageTime', 'step'" in text
    assert "__raw_path__" in text
    for secret in (SEED.hex(), "test-0", str(tmp_path), "peck-node"):
        assert secret not in text


def test_a_match_that_is_stopped_from_outside_is_nobodys_fault(
    node: RealNode, tmp_path: Path
) -> None:
    slow = "import time\ndef agent(o):\n    time.sleep(0.2)\n    return 'EAST'\n"
    with pytest.raises(HostFault, match="did not end within 1 s"):
        node.play(tmp_path, [slow, EAST], stop_after_seconds=1.0)


def test_what_the_progress_callback_raises_ends_the_match(node: RealNode, tmp_path: Path) -> None:
    def lost(step: int) -> None:
        raise InterruptedError(step)

    with pytest.raises(InterruptedError):
        node.play(tmp_path, [EAST, EAST], on_step=lost)
    assert node.play(tmp_path, [EAST, EAST]).seats[0].verdict is Verdict.DONE


def test_a_node_that_dies_in_the_middle_is_nobodys_fault(tmp_path: Path) -> None:
    real_node.require("bubblewrap")
    with real_node.running("bubblewrap") as doomed:

        def kill_at_5(step: int) -> None:
            if step == 5:
                doomed.kill()

        with pytest.raises(HostFault):
            doomed.play(tmp_path, [EAST] * 4, on_step=kill_at_5)
