"""Agents that crash, flood, hang or lie: each ends itself alone and leaves nothing behind.

Probes answer with what they managed to do, so that a test compares findings and not silence.
"""

from __future__ import annotations

import time

import pytest

from tests.integration.sandbox.nodes import (
    Bench,
    FrameError,
    failing,
    processes_of,
    still_works,
)


def test_a_crash_at_import_is_an_error_with_its_traceback(bench: Bench) -> None:
    bundle = bench.bundle("import nothing_of_this_name\n")
    with bench.seat(bundle) as player:
        answer = player.start()
        assert answer["k"] == "error"
        assert answer["n"] is None
        assert "nothing_of_this_name" in answer["trace"]
        assert player.loan.end().clean
    with bench.seat(bundle) as player:
        assert player.start(load="first_move") == {"k": "ready"}
        assert player.act(step=0)["k"] == "error"


def test_a_file_without_a_function_is_an_error(bench: Bench) -> None:
    with bench.seat(bench.bundle("x = 1\n")) as player:
        assert "defines no function" in player.start()["trace"]


def test_an_exception_in_a_move_shows_the_agents_own_lines(bench: Bench) -> None:
    with bench.seat(bench.bundle("def agent(obs):\n    return 1 / obs.step\n")) as player:
        player.start()
        trace = player.act(step=0)["trace"]
        assert "ZeroDivisionError" in trace
        assert "main.py" in trace
        assert "peckbox" not in trace
        assert player.move(step=1) == 1.0


def test_an_exit_is_told_by_its_code(bench: Bench) -> None:
    for body, code in (("sys.exit(3)", 3), ("os._exit(4)", 4), ("raise SystemExit", 0)):
        ending = failing(bench, f"def agent(obs):\n    {body}\n").loan.end()
        assert (ending.exit_code, ending.signal, ending.clean) == (code, None, True)


def test_a_crash_is_told_by_its_signal(bench: Bench) -> None:
    for body, number in (
        ("ctypes.string_at(0)", 11),
        ("os.abort()", 6),
        ("os.kill(os.getpid(), 9)", 9),
    ):
        ending = failing(bench, f"def agent(obs):\n    {body}\n").loan.end()
        assert (ending.exit_code, ending.signal, ending.clean) == (None, number, True)
        assert not ending.out_of_memory


def test_a_memory_bomb_ends_itself_alone(bench: Bench) -> None:
    neighbour = bench.bundle("def agent(obs):\n    return 'beside'\n")
    with bench.seat(neighbour) as player:
        player.start()
        ending = failing(bench, "def agent(obs):\n    x = bytearray(1 << 31)\n").loan.end()
        assert ending.signal == 9
        assert ending.out_of_memory
        assert player.move(step=0) == "beside"
    still_works(bench)


def test_memory_that_belongs_to_nobody_is_charged_to_the_agent(bench: Bench) -> None:
    body = """
def agent(obs):
    fd = os.memfd_create("x")
    while True:
        os.write(fd, bytes(1 << 20))
"""
    # The file-size limit stops one memfd; many of them meet the memory limit.
    body = body.replace("    while True:", "    while True:\n        fd = os.memfd_create('x')", 1)
    body = body.replace("os.write(fd, bytes(1 << 20))", "os.write(fd, bytes(32 << 20))")
    assert failing(bench, body).loan.end().out_of_memory
    still_works(bench)


def test_a_fork_bomb_is_stopped_by_its_limit(bench: Bench) -> None:
    source = """
import os, time
def agent(obs):
    count = 0
    try:
        while count < 500:
            if os.fork() == 0:
                os.setsid()
                while True:
                    time.sleep(1)
            count += 1
    except OSError:
        pass
    return [count, os.getuid()]
"""
    count, uid = bench.findings(source, step=0)
    assert 10 <= count < 44
    assert processes_of(uid) == []
    still_works(bench)


def test_a_fork_bomb_that_races_the_sweep_is_swept(bench: Bench) -> None:
    source = """
import os
def agent(obs):
    if os.fork() == 0:
        while True:
            try:
                if os.fork():
                    os._exit(0)
            except OSError:
                pass
    return os.getuid()
"""
    assert processes_of(bench.findings(source, step=0)) == []


def test_a_thread_bomb_is_stopped_by_its_limit(bench: Bench) -> None:
    source = """
import threading, time
def agent(obs):
    count = 0
    try:
        while count < 500:
            threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
            count += 1
    except RuntimeError:
        pass
    return count
"""
    assert 10 <= bench.findings(source, step=0) < 44


def test_a_flood_of_output_is_cut_and_delays_nobody(bench: Bench) -> None:
    source = """
import os, sys
def agent(obs):
    for _ in range(200):
        os.write(1, b"x" * 65536)
    sys.stderr.write("e" * 50_000)
    return "done"
"""
    with bench.seat(bench.bundle(source)) as player:
        player.start()
        assert [player.move(step=step) for step in range(3)] == ["done"] * 3
        log = player.loan.end().log
    assert [(entry.step, len(entry.stdout), len(entry.stderr)) for entry in log] == [
        (step, 10_000, 10_000) for step in (1, 2, 3)
    ]


def test_a_log_is_bounded_for_a_whole_match(bench: Bench) -> None:
    source = "def agent(obs):\n    print('y' * 9_999)\n    return 1\n"
    with bench.seat(bench.bundle(source)) as player:
        player.start()
        for step in range(130):
            player.move(step=step)
        log = player.loan.end().log
    assert sum(len(entry.stdout) for entry in log) <= 1 << 20
    assert len(log) > 100


def test_scratch_is_bounded_in_bytes_and_in_files(bench: Bench) -> None:
    source = """
def agent(obs):
    written, files = 0, 0
    try:
        for index in range(100):
            with open(f"/tmp/big{index}", "wb", buffering=0) as file:
                for _ in range(8):
                    written += file.write(bytes(1 << 20))
    except OSError as error:
        full = error.errno
    import os
    for name in os.listdir("/tmp"):
        os.unlink("/tmp/" + name)
    try:
        for index in range(100_000):
            open(f"/tmp/{index}", "w").close()
            files += 1
    except OSError as error:
        many = error.errno
    return [written >> 20, full, files, many]
"""
    written, full, files, many = bench.findings(source, step=0)
    assert written <= 64
    assert files <= 4096
    assert (full, many) == (28, 28)
    still_works(bench)


def test_a_deep_tree_is_wiped_or_its_box_thrown_away(bench: Bench) -> None:
    source = """
import os
def agent(obs):
    os.chdir("/tmp")
    depth = 0
    try:
        while depth < 3000:
            os.mkdir("d")
            os.chdir("d")
            depth += 1
    except OSError:
        pass
    return depth
"""
    bundle = bench.bundle(source)
    for _ in range(2):
        with bench.seat(bundle) as player:
            player.start()
            assert player.move(step=0) >= 2000
            player.loan.end()
    still_works(bench)


def test_rights_taken_from_a_folder_do_not_save_it(bench: Bench) -> None:
    source = """
import os
def agent(obs):
    os.makedirs("/tmp/a/b")
    open("/tmp/a/b/c", "w").close()
    os.symlink("/", "/tmp/a/link")
    os.chmod("/tmp/a/b", 0)
    os.chmod("/tmp/a", 0)
    return 1
"""
    assert bench.findings(source, step=0) == 1


def test_an_agent_that_stops_or_hangs_is_ended(bench: Bench) -> None:
    for body in (
        "os.kill(os.getpid(), signal.SIGSTOP)",
        "time.sleep(1000)",
        "signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65)); time.sleep(1000)",
    ):
        source = f"import os, signal, time\ndef agent(obs):\n    {body}\n"
        with bench.seat(bench.bundle(source)) as player:
            player.start()
            with pytest.raises(TimeoutError):
                player.act(0.3, step=0)
            before = time.monotonic()
            ending = player.loan.end()
            assert ending.clean
            assert (ending.exit_code, ending.signal) == (None, None)
            assert time.monotonic() - before < 10


@pytest.mark.parametrize(
    "payload",
    [
        "b'\\xff\\xff\\xff\\xff' + b'['",
        "b'\\x00\\x00\\x00\\x00'",
        "frame(b'[' * 9000)",
        'frame(b\'{"k":"reply","n":1,"action":NaN}\')',
        'frame(b\'{"k":"reply","n":1,"action":"\\\\ud800"}\')',
        'frame(b\'{"k":"shell"}\')',
        'frame(b\'{"k":"ready"}\') * 2',
        "frame(b'{\"k\":\"reply\",\"n\":' + b'9' * 9000 + b'}')",
        "frame(b'7')",
    ],
)
def test_a_broken_frame_is_refused(bench: Bench, payload: str) -> None:
    source = f"""
import os, struct, time
def frame(body):
    return struct.pack(">I", len(body)) + body
def agent(obs):
    os.write(3, {payload})
    time.sleep(10)
"""
    with bench.seat(bench.bundle(source)) as player:
        player.start()
        with pytest.raises(FrameError):
            player.act(5, step=0)
        assert player.loan.end().clean


def test_a_forged_border_only_moves_the_agents_own_log(bench: Bench) -> None:
    source = """
import gc, os
def agent(obs):
    import sys
    frame = sys._getframe()
    while frame is not None and "mark" not in frame.f_locals:
        frame = frame.f_back
    mark = frame.f_locals["mark"]
    os.write(1, mark + b"77\\0" + b"forged" + mark + b"-5\\0" + mark + b"9" * 30)
    return 1
"""
    with bench.seat(bench.bundle(source)) as player:
        player.start()
        player.move(step=0)
        ending = player.loan.end()
    assert ending.clean
    assert any("forged" in entry.stdout for entry in ending.log)
    assert all(0 <= entry.step <= 100_000 for entry in ending.log)
