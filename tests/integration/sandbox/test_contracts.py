"""Agents of every contract play whole matches; an agent that breaks its contract fails alone."""

from __future__ import annotations

import io
import json
import re
import shutil
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from games import GAMES
from games.protocol import Verdict
from sandbox.match import bundle_packing, referee
from sandbox.match.clock import Clock
from sandbox.match.loans import SeatRequest, borrow_seats
from sandbox.match.match_record import PlayedMatch, read_log
from sandbox.match.referee import EpisodeRequest
from tests.integration.counting import Cells, Counting, Snakes
from tests.integration.sandbox.nodes import MEMORY_MB, ROOT, Bench, still_works

AGENTS = ROOT / "tests" / "agents" / "contracts"
CLOCK = Clock(act_seconds=0.5, bank_seconds=0.0, load="own", load_seconds=1.5)
ENOUGH_TO_TAKE_ALL_MEMORY = replace(CLOCK, act_seconds=3.0)
STEPS = 5
COUNTS = "def agent(o): return o.step\n"
UP = "def agent(o): return 'up'\n"
SPEAKS = {"contract": "lines", "entry": ["python", "bot.py"]}
SERVES = {"contract": "http", "entry": ["python", "bot.py"]}
RIDDLES = {"contract": "riddles", "entry": ["python", "bot.py"]}


def _packed(folder: Path, files: Mapping[str, bytes]) -> Path:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    path = folder / f"contract-{len(list(folder.glob('contract-*')))}.tar.gz"
    path.write_bytes(buffer.getvalue())
    return path


def _agent(folder: Path, name: str) -> Path:
    """One of the correct agents, packed as the command line packs a folder."""
    source = AGENTS / name
    if name == "shell_lines":
        shell = shutil.which("dash")
        if shell is None:
            pytest.skip("there is no dash to put beside the script")
        copy = folder / name
        shutil.copytree(source, copy, dirs_exist_ok=True)
        shutil.copy(shell, copy / "dash")
        source = copy
    return bundle_packing.prepare_bundle(source, folder)


def _bot(folder: Path, manifest: Mapping[str, Any], source: str) -> Path:
    return _packed(folder, {"peck.json": json.dumps(manifest).encode(), "bot.py": source.encode()})


def _play(
    bench: Bench, game: Any, bundles: Sequence[Path], clock: Clock = CLOCK, **configuration: Any
) -> PlayedMatch:
    requests = [SeatRequest("python", path, MEMORY_MB) for path in bundles]
    with borrow_seats(bench.node.socket, requests, 60.0) as loans:
        return referee.play_episode(
            EpisodeRequest(
                game,
                game.configure(configuration or {"steps": STEPS}),
                clock,
                bytes(range(16)),
                loans,
                max_parallel_seats=2,
                stop_after_seconds=120.0,
            )
        )


def _log(played: PlayedMatch, seat: int) -> str:
    return "".join(m["stdout"] + m["stderr"] for m in read_log(played.seats[seat].log)["moves"])


def _all_right(played: PlayedMatch, seats: Sequence[int]) -> None:
    for seat in seats:
        report = played.seats[seat]
        why = (report.reason, dict(report.pardoned), _log(played, seat))
        assert (report.verdict, report.reward) == (Verdict.DONE, STEPS), why


def test_programs_of_the_lines_contract_play(bench: Bench) -> None:
    ours = [_agent(bench.folder, name) for name in ("python_lines", "shell_lines")]
    played = _play(bench, Counting(), [*ours, bench.bundle(COUNTS)])
    _all_right(played, range(3))


@pytest.mark.same_in_every_launcher
def test_a_program_of_the_riddles_contract_plays(bench: Bench) -> None:
    clock = Clock(act_seconds=0.0, bank_seconds=10.0, increment_seconds=0.1, load="own")
    played = _play(bench, Cells(), [_agent(bench.folder, "riddles")] * 2, clock)
    _all_right(played, range(2))
    assert "bank 10000\n" in _log(played, 0)


@pytest.mark.parametrize(
    "load", ["own", pytest.param("first_move", marks=pytest.mark.same_in_every_launcher)]
)
def test_servers_of_every_kind_play(bench: Bench, load: Any) -> None:
    names = ["simple_server", "wsgi_server", "asyncio_server", "unix_server", "framework_server"]
    names.append("old_server")
    bundles = [*(_agent(bench.folder, name) for name in names), bench.bundle(UP)]
    clock = Clock(act_seconds=0.5, bank_seconds=10.0, load=load, load_seconds=10.0)
    played = _play(bench, Snakes(), bundles, clock)
    _all_right(played, range(len(bundles)))
    assert "told /start 0" in _log(played, 0)
    assert f"told /end {STEPS}" in _log(played, 0)
    assert "asked in vain: [Errno 101] Network is unreachable" in _log(played, 4)


@pytest.mark.same_in_every_launcher
def test_battlesnake_and_golad_are_played_through_their_contracts(bench: Bench) -> None:
    snakes = GAMES["battlesnake"]
    reference = [ROOT / "agents" / "battlesnake" / name for name in ("painter", "safe_step")]
    bundles = [bundle_packing.prepare_bundle(path, bench.folder) for path in reference]
    clock = Clock.from_json({**snakes.clock, "act_seconds": 2.0})
    played = _play(bench, snakes, bundles, clock, maxTurns=20)
    assert [report.reason for report in played.seats] == [None, None]
    assert [dict(report.pardoned) for report in played.seats] == [{}, {}]
    cells = GAMES["golad"]
    bot = _agent(bench.folder, "riddles")
    board = {"width": 6, "height": 6, "startingCells": 8, "maxRounds": 4}
    played = _play(bench, cells, [bot, bot], Clock.from_json(cells.clock), **board)
    assert [report.reason for report in played.seats] == [None, None], _log(played, 0)
    moves = [move for step in played.episode.steps for move in step.moves if move]
    assert moves
    assert all(str(move).startswith("kill ") for move in moves)


@dataclass(frozen=True)
class Hostile:
    """A program that breaks its contract, and its expected end."""

    name: str
    verdict: Verdict
    reason: str
    source: str


LISTENS = """
import contextlib, json, os, socket, sys, threading, time
def spin():
    while True:
        pass
listener = socket.socket()
listener.bind(("127.0.0.1", 8000))
listener.listen()
def serve(answer):
    while True:
        line, _ = listener.accept()
        head = line.recv(1 << 16)
        if b"/end" in head[:12]:
            threading.Thread(target=spin).start()
            spin()
        if b"GET /" in head[:8] or b"/start" in head[:20]:
            line.sendall(b"HTTP/1.0 200 OK\\r\\n\\r\\n{}")
        else:
            answer(line)
        line.close()
"""
SERVERS = (
    Hostile("never listens", Verdict.TIMEOUT, "still loading after 1.5 s.+must listen",
            "import time\ntime.sleep(60)\n"),
    Hostile("exits at once", Verdict.ERROR, r"loading: bot.py exited with code 0; it must run",
            "print('bye')\n"),
    Hostile("answers 500", Verdict.ERROR, r"in step 1: POST /move was answered with status 500",
            LISTENS + "serve(lambda line: line.sendall(b'HTTP/1.0 500 No\\r\\n\\r\\nno'))\n"),
    Hostile("floods", Verdict.ERROR, "longer than 12288 bytes",
            LISTENS + "def flood(line):\n    line.sendall(b'HTTP/1.0 200 OK\\r\\n\\r\\n')\n"
            "    while True:\n        line.sendall(b'x' * 65536)\nserve(flood)\n"),
    Hostile("breaks the framing", Verdict.ERROR, "is no answer of HTTP",
            LISTENS + "serve(lambda line: line.sendall(b'up up up'))\n"),
    Hostile("answers early and again", Verdict.ERROR, "after its answer|before it was asked",
            LISTENS + "ok = b'HTTP/1.1 200 OK\\r\\nContent-Length: 4\\r\\n\\r\\n\"up\"'\n"
            "def again(line):\n    line.sendall(ok + ok)\n    time.sleep(60)\nserve(again)\n"),
    Hostile("accepts and says nothing", Verdict.TIMEOUT,
            "POST /move within the time|0.5 s a move|had no answer within",
            LISTENS + "serve(lambda line: time.sleep(60))\n"),
    Hostile("hangs up", Verdict.ERROR, "closed the connection or stopped listening",
            LISTENS + "serve(lambda line: None)\n"),
)  # fmt: skip
READS = "import sys, time, os\nsays = lambda text: print(text, flush=True)\n"
LINES = (
    Hostile("says nothing", Verdict.TIMEOUT, "write and flush one line for each question",
            "import time\ntime.sleep(60)\n"),
    Hostile("answers early", Verdict.ERROR, r"wrote '0\\n' before it was asked",
            READS + "says(0)\ntime.sleep(60)\n"),
    Hostile("floods when asked", Verdict.ERROR, "more than the 12288 bytes of a line",
            READS + "for line in sys.stdin:\n    while 'move' in line: os.write(1, b'x' * 9999)\n"),
    Hostile("writes no JSON", Verdict.INVALID, "'north' is no JSON text; write the move as JSON",
            READS + "for line in sys.stdin:\n    if 'move' in line: says('north')\n"),
    Hostile("exits at its first move", Verdict.ERROR, "in step 1: bot.py exited with code 3",
            READS + "for line in sys.stdin:\n    if 'move' in line: sys.exit(3)\n"),
    Hostile("kills what asks it", Verdict.ERROR, "signal SIGKILL",
            READS + "for line in sys.stdin:\n    if 'move' in line: os.kill(os.getppid(), 9)\n"),
    Hostile("takes all memory", Verdict.ERROR, f"more than its {MEMORY_MB} MB of memory",
            READS + "hoard = []\nfor line in sys.stdin:\n"
            "    while 'move' in line: hoard.append(b'x' * (1 << 20))\n"),
    Hostile("leaves processes behind", Verdict.ERROR, "exited with code 0|closed its standard",
            READS + "for line in sys.stdin:\n    if 'move' in line:\n        if os.fork() == 0:\n"
            "            os.setsid()\n            time.sleep(60)\n        os._exit(0)\n"),
)  # fmt: skip


@pytest.mark.same_in_every_launcher
@pytest.mark.parametrize(
    ("game", "clock", "manifest", "honest", "variants"),
    [
        (Snakes(), CLOCK, SERVES, UP, SERVERS),
        (Counting(), ENOUGH_TO_TAKE_ALL_MEMORY, SPEAKS, COUNTS, LINES),
    ],
    ids=["http", "lines"],
)
def test_a_broken_contract_costs_only_its_own_seat(
    bench: Bench,
    game: Any,
    clock: Clock,
    manifest: Mapping[str, Any],
    honest: str,
    variants: Sequence[Hostile],
) -> None:
    honest_kept = "simple_server" if manifest is SERVES else "python_lines"
    bundles = [_bot(bench.folder, manifest, one.source) for one in variants]
    bundles += [bench.bundle(honest), _agent(bench.folder, honest_kept)]
    game.seats = range(1, 17)
    played = _play(bench, game, bundles, clock)
    _all_right(played, range(len(variants), len(bundles)))
    for seat, one in enumerate(variants):
        report = played.seats[seat]
        assert report.verdict is one.verdict, (one.name, report.reason)
        assert re.search(one.reason, report.reason or ""), (one.name, report.reason)
        assert len(report.reason or "") <= 400
    still_works(bench)


@pytest.mark.same_in_every_launcher
def test_unasked_output_of_a_riddles_bot_is_dropped(bench: Bench) -> None:
    early = (
        READS + "says('pass')\nfor line in sys.stdin:\n"
        "    if 'action' in line: os.write(1, b'kill 9,9\\nkill 1,0\\n')\n"
    )
    floods = READS + "while True: os.write(1, b'x' * 65536)\n"
    wrong = READS + "for line in sys.stdin:\n    if 'action' in line: says('dance')\n"
    sources = [early, floods, wrong]
    played = _play(bench, Cells(Verdict.INVALID), [_bot(bench.folder, RIDDLES, s) for s in sources])
    assert [report.verdict for report in played.seats] == [
        Verdict.DONE, Verdict.ERROR, Verdict.INVALID
    ]  # fmt: skip
    assert "of a line" in (played.seats[1].reason or "")
    assert played.seats[2].pardoned == {Verdict.INVALID: STEPS}
    assert played.seats[0].reward == STEPS


@pytest.mark.parametrize("marked_line", [1, 2], ids=["before the question", "in the answer"])
def test_a_byte_order_mark_at_the_start_of_the_output_loses_no_move(
    bench: Bench, marked_line: int
) -> None:
    source = (
        READS + "asked = 0\nfor number, line in enumerate(sys.stdin, 1):\n"
        f"    if number == {marked_line}: os.write(1, b'\\xef\\xbb\\xbf')\n"
        "    if 'action' in line: says('kill 1,0')\n"
        "    if 'move\"' in line: says(asked)\n"
        "    asked += 'move\"' in line\n"
    )
    played = _play(bench, Cells(Verdict.INVALID), [_bot(bench.folder, RIDDLES, source)])
    _all_right(played, [0])
    played = _play(bench, Counting(), [_bot(bench.folder, SPEAKS, source)])
    _all_right(played, [0])


@pytest.mark.same_in_every_launcher
def test_a_wrong_contract_error_names_the_right_contracts(bench: Bench) -> None:
    bundles = [_agent(bench.folder, name) for name in ("riddles", "simple_server")]
    played = _play(bench, Counting(Verdict.ERROR), bundles)
    for report, word in zip(played.seats, ("GOLAD", "Battlesnake"), strict=True):
        assert report.verdict is Verdict.ERROR
        assert f"is only for {word}; use callable or lines for this game" in (report.reason or "")


@pytest.mark.same_in_every_launcher
def test_a_failing_server_loses_only_the_failed_moves(bench: Bench) -> None:
    source = (
        LISTENS
        + """
turn = 0
def answer(line):
    global turn
    turn += 1
    if turn == 2:
        time.sleep(0.7)
    with contextlib.suppress(OSError):
        said = b'{"move": "up"}'
        line.sendall(b"HTTP/1.0 %d OK\\r\\n\\r\\n%b" % (500 if turn == 4 else 200, said))
serve(answer)
"""
    )
    lenient = Snakes(Verdict.TIMEOUT, Verdict.INVALID, Verdict.ERROR)
    bundles = [_bot(bench.folder, SERVES, source), bench.bundle(UP)]
    played = _play(bench, lenient, bundles)
    report = played.seats[0]
    assert report.verdict is Verdict.DONE, report.reason
    assert report.pardoned == {Verdict.TIMEOUT: 1, Verdict.ERROR: 1}
    assert report.reward == STEPS - 2
    _all_right(played, [1])


def test_a_box_is_reused_clean_after_a_program(bench: Bench) -> None:
    says_uid = (
        "import json, os, sys\nfor line in sys.stdin:\n"
        "    if 'move' in line: print(json.dumps([os.getuid(), os.listdir('/tmp')]), flush=True)\n"
    )
    path = _bot(bench.folder, SPEAKS, says_uid)
    uids = []
    for _ in range(3):
        with bench.seat(path) as player:
            message = {"k": "start", "configuration": {}, "seed": "00" * 16, "load": "own"}
            assert player.ask(message) == {"k": "ready", "contract": "lines"}
            uid, left = player.move(step=0)
            assert left == []
            ending = player.loan.end()
            assert (ending.clean, ending.exit_code, ending.signal) == (True, None, None)
            uids.append(uid)
    assert uids == sorted(set(uids)), "one uid a match, rising in one box"
    assert len({uid // 1000 for uid in uids}) == 1
