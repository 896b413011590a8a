"""Matches between real processes in real boxes: the record, the clock, the turns and the ends.

test_referee_faults.py tests seats that fail.
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from games.episode import from_bytes, states, to_bytes
from games.protocol import Verdict
from sandbox.errors import HostFault
from sandbox.match import bundle_packing
from sandbox.match.clock import Clock
from sandbox.match.match_record import SeatReport, read_log
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


def _printed(report: SeatReport, stream: str = "stdout") -> dict[int, str]:
    return {move["step"]: move[stream] for move in read_log(report.log)["moves"] if move[stream]}


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
        assert len(charged) == len(read_log(report.log)["moves"])
        assert report.charged_seconds == pytest.approx(sum(charged), abs=1e-3)
        assert report.max_move_seconds == max(charged)


def test_the_same_seed_gives_the_same_game(node: RealNode, tmp_path: Path) -> None:
    def moves(seed: bytes) -> list[Any]:
        steps = node.play(tmp_path, [WANDERER] * 4, seed=seed).episode.steps
        return [(step.moves, step.chance) for step in steps]

    assert moves(SEED) == moves(SEED)
    assert moves(SEED) != moves(bytes(16))


def test_an_answer_of_none_is_the_move_north(node: RealNode, tmp_path: Path) -> None:
    played = node.play(tmp_path, ["def agent(): pass", EAST], configuration={"episodeSteps": 5})
    assert [step.moves[0] for step in played.episode.steps] == ["NORTH"] * 4
    assert played.seats[0].verdict is Verdict.DONE


def test_an_owner_is_warned_of_answers_of_none(node: RealNode, tmp_path: Path) -> None:
    often = "def agent(o):\n    if o.step % 3:\n        return 'EAST'\n"
    ended = "def agent(o):\n    if o.step == 2:\n        raise ValueError('enough')\n"
    agents = ["def agent(o): pass", often, ended, EAST]
    never, some, failed, good = node.play(tmp_path, agents, configuration={"episodeSteps": 5}).seats
    assert never.reason == (
        'Your agent answered None in all 4 turns; the rules played "NORTH" for it. '
        "Does the function return its action?"
    )
    assert str(some.reason).startswith("Your agent answered None in 2 of 4 turns; ")
    assert str(failed.reason).startswith("Raised in step 3")
    assert good.reason is None


def test_a_program_is_warned_of_answers_of_null(node: RealNode, tmp_path: Path) -> None:
    folder = tmp_path / "program"
    folder.mkdir()
    manifest = {"contract": "lines", "entry": ["python3", "bot.py"]}
    (folder / "peck.json").write_text(json.dumps(manifest))
    (folder / "bot.py").write_text("input()\nwhile input():\n    print('null', flush=True)\n")
    bundle = bundle_packing.prepare_bundle(folder, tmp_path)
    (tmp_path / "east.py").write_text(EAST)
    agents = [bundle, tmp_path / "east.py"]
    played = node.play_files(agents, configuration={"episodeSteps": 5})
    assert played.seats[0].reason == (
        'Your agent answered null in all 4 turns; the rules played "NORTH" for it. '
        "Does the program send its move?"
    )


SLEEPER = """
    import time
    time.sleep(0.4)
    def agent(observation, configuration):
        print(observation.step, observation.remainingOverageTime)
        if observation.step in (2, 4):
            time.sleep(0.4)
        return "EAST"
"""


def test_the_bank_pays_for_each_overrun_once(node: RealNode, tmp_path: Path) -> None:
    clock = Clock(act_seconds=0.2, bank_seconds=60.0)
    played = node.play(tmp_path, [SLEEPER, EAST], clock=clock, configuration={"episodeSteps": 8})
    charges = [step.charged_seconds[0] or 0.0 for step in played.episode.steps]
    banks = [step.bank_seconds[0] or 0.0 for step in played.episode.steps]
    for paid in (0, 2, 4):
        assert charges[paid] > 0.2  # 0.4, less the time that the machine itself was stopped
    before = [60.0, *banks]
    for charged, was, now in zip(charges, before, banks, strict=False):
        assert now == pytest.approx(was - max(0.0, charged - 0.2), abs=1e-5)
    told = [float(line.split()[1]) for line in _printed(played.seats[0]).values()]
    assert told == pytest.approx(before[:-1], abs=1e-5)


def test_with_one_parallel_seat_the_seats_take_turns(node: RealNode, tmp_path: Path) -> None:
    # The agents compute. A sleep may be forgiven on a busy host, and then counts as a quick answer.
    source = """
    import time
    def agent(observation, configuration):
        began, used = time.monotonic(), time.process_time()
        while time.process_time() < used + 0.02:
            pass
        print(began, time.monotonic())
        return "EAST"
    """
    played = node.play(
        tmp_path, [source] * 3, max_parallel_seats=1, configuration={"episodeSteps": 8}
    )
    first_in_step = []
    for step in range(1, 8):
        spans = [tuple(map(float, _printed(seat)[step].split())) for seat in played.seats]
        order = sorted(range(3), key=lambda seat: spans[seat])
        for earlier, later in itertools.pairwise(order):
            assert spans[earlier][1] <= spans[later][0]
        first_in_step.append(order[0])
    assert set(first_in_step) == {0, 1, 2}


TELLS_WHEN = """
import time
def agent(observation, configuration):
    began = time.monotonic()
    while time.monotonic() < began + 0.3:
        time.sleep({pause})
    print(began, time.monotonic())
    return "EAST"
"""


@pytest.mark.parametrize(("pause", "overlap"), [("0.1", True), ("0", False)])
def test_a_validation_asks_its_copies_together_if_they_only_wait(
    node: RealNode, tmp_path: Path, pause: str, overlap: bool
) -> None:
    played = node.play(
        tmp_path,
        [TELLS_WHEN.replace("{pause}", pause)] * 3,
        max_parallel_seats=1,
        configuration={"episodeSteps": 8},
        stops_at_fault=True,
    )
    spans = sorted(tuple(map(float, _printed(seat)[7].split())) for seat in played.seats)
    for earlier, later in itertools.pairwise(spans):
        assert (earlier[1] > later[0]) is overlap


def test_with_a_separate_load_time_the_import_costs_no_bank(node: RealNode, tmp_path: Path) -> None:
    clock = Clock(act_seconds=0.2, bank_seconds=60.0, load="own")
    source = "import time\nprint('loading')\ntime.sleep(0.4)\n" + EAST
    played = node.play(tmp_path, [source, EAST], clock=clock, configuration={"episodeSteps": 4})
    charged = played.episode.steps[0].charged_seconds[0]
    assert charged is not None
    assert charged < 0.4
    assert _printed(played.seats[0]) == {0: "loading\n"}


def test_printed_output_is_logged_at_its_step(node: RealNode, tmp_path: Path) -> None:
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
    assert "ValueError: enough" in read_log(report.log)["traceback"]
    assert _printed(played.seats[1]) == {}
    assert read_log(played.seats[1].log)["traceback"] is None


def test_an_agent_sees_no_match_id_or_seed(node: RealNode, tmp_path: Path) -> None:
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


def test_a_match_beyond_its_time_limit_is_a_host_fault(node: RealNode, tmp_path: Path) -> None:
    slow = "import time\ndef agent(o):\n    time.sleep(0.2)\n    return 'EAST'\n"
    with pytest.raises(HostFault, match="did not end within 1 s"):
        node.play(tmp_path, [slow, EAST], stop_after_seconds=1.0)


def test_an_error_in_the_progress_callback_ends_the_match(node: RealNode, tmp_path: Path) -> None:
    def lost(step: int) -> None:
        raise InterruptedError(step)

    with pytest.raises(InterruptedError):
        node.play(tmp_path, [EAST, EAST], on_step=lost)
    assert node.play(tmp_path, [EAST, EAST]).seats[0].verdict is Verdict.DONE


def test_a_node_killed_during_a_match_is_a_host_fault(tmp_path: Path) -> None:
    real_node.require("bubblewrap")
    with real_node.running("bubblewrap") as doomed:

        def kill_at_5(step: int) -> None:
            if step == 5:
                doomed.kill()

        with pytest.raises(HostFault):
            doomed.play(tmp_path, [EAST] * 4, on_step=kill_at_5)
