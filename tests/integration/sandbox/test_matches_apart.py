"""No data passes from one match to the next, nor between two simultaneous seats."""

from __future__ import annotations

import time

from tests.integration.sandbox.hostile import processes_of
from tests.integration.sandbox.nodes import Bench, Player, borrowing_worker

LEAVER = """
import ctypes, os, socket, time
libc = ctypes.CDLL(None, use_errno=True)

def agent(obs):
    found = []
    if os.listdir("/tmp"):
        found.append("scratch")
    for name in ("\\0left", "/tmp/left"):
        with socket.socket(socket.AF_UNIX) as s:
            try:
                s.connect(name)
                found.append("socket")
            except OSError:
                pass
    for pid in os.listdir("/proc"):
        if pid.isdigit() and int(pid) > 1 and int(pid) != os.getpid():
            if os.stat("/proc/" + pid).st_uid not in (0, 65534):
                found.append("process")
    for path in ("/dev/shm", "/run", "/var/tmp", "/dev/mqueue"):
        try:
            open(path + "/left", "x").close()
            found.append(path)
        except OSError:
            pass
    if libc.shmget(77, 4096, 0o1666) >= 0:
        found.append("shm")
    for path in ("/tmp/left", "/tmp/.hidden"):
        open(path + ".txt", "w").write("mark")
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            s = socket.socket(socket.AF_UNIX)
            s.bind("\\0left")
            s.listen()
            while True:
                time.sleep(1)
        os._exit(0)
    return [os.getuid(), found]
"""


def play(player: Player) -> tuple[int, list[str]]:
    player.start()
    uid, found = player.move(step=0)
    return uid, found


def test_a_match_leaves_no_trace_for_the_next_match(bench: Bench) -> None:
    bundle = bench.bundle(LEAVER)
    uids = []
    for _ in range(3):
        with bench.seat(bundle) as player:
            uid, found = play(player)
            assert found == []
            assert player.loan.end().clean
        uids.append(uid)
    assert len(set(uids)) == 3
    assert uids == sorted(uids), "a warm box gives rising uids, so it was used again"
    assert len({uid // 1000 for uid in uids}) == 1
    assert [processes_of(uid) for uid in uids] == [[]] * 3


def test_two_seats_of_one_submission_are_isolated(bench: Bench) -> None:
    bundle = bench.bundle(LEAVER)
    with bench.seat(bundle) as first, bench.seat(bundle) as second:
        uid_one, found_one = play(first)
        uid_two, found_two = play(second)
    assert found_one == found_two == []
    assert uid_one // 1000 != uid_two // 1000


LOCKS = """
import fcntl, json, os, struct
file = open(json.__file__, "rb")  # the same file in every box
def attempt(act):
    try:
        return act() and "told" or "done"
    except OSError as error:
        return error.errno
def agent(obs):
    whole = fcntl.LOCK_EX | fcntl.LOCK_NB
    part = struct.pack("hhqqi4x", fcntl.F_RDLCK, 0, 77, 1, 0)
    asked = struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 77, 1, 0)
    return [
        attempt(lambda: fcntl.flock(file, whole)),
        attempt(lambda: fcntl.fcntl(file, fcntl.F_SETLK, part)),
        attempt(lambda: fcntl.fcntl(file, fcntl.F_GETLK, asked)),
        attempt(lambda: fcntl.fcntl(file, fcntl.F_NOTIFY, 1)),
    ]
"""


def test_locks_on_shared_files_carry_no_information(bench: Bench) -> None:
    bundle = bench.bundle(LOCKS)
    with bench.seat(bundle) as one, bench.seat(bundle) as two:
        one.start()
        two.start()
        assert one.move(step=0) == ["done", "told", 1, 1]
        assert two.move(step=0) == ["done", "told", 1, 1]


def test_an_agent_may_lock_its_own_database(bench: Bench) -> None:
    source = """
import sqlite3
def agent(obs):
    with sqlite3.connect("/tmp/book.db") as book:
        book.execute("create table moves (name text)")
        book.execute("insert into moves values ('WEST')")
    return sqlite3.connect("/tmp/book.db").execute("select name from moves").fetchone()[0]
"""
    assert bench.findings(source, step=0) == "WEST"


def test_another_submission_never_gets_a_used_box(bench: Bench) -> None:
    source = "import os\ndef agent(obs):\n    return os.getuid() // 1000\n"
    ranges = [bench.findings(source + f"# {number}\n", step=0) for number in range(3)]
    assert len(set(ranges)) == 3


def test_the_box_of_a_dead_worker_is_reused_clean(bench: Bench) -> None:
    bundle = bench.bundle(LEAVER)
    with borrowing_worker(bench.node, bundle) as (worker, (before, _)):
        worker.kill()
    deadline = time.monotonic() + 60
    while processes_of(before) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert processes_of(before) == []
    with bench.seat(bundle) as player:
        after, found = play(player)
    assert found == []
    assert after > before
    assert after // 1000 == before // 1000


def test_a_loan_ends_only_once(bench: Bench) -> None:
    with bench.seat(bench.bundle("def agent(obs):\n    return 1\n")) as player:
        player.start()
        assert player.loan.end() is player.loan.end()
