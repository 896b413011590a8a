"""Agents that mean harm: each gets nothing, hurts nobody, and leaves nothing behind.

Probes answer with what they managed to do, so that a test compares findings and not silence.
"""

from __future__ import annotations

import time

import pytest

from sandbox.errors import FrameError
from tests.integration.sandbox.nodes import Bench, Player, processes_of_box

HONEST = "def agent(obs):\n    return 'NORTH'\n"


def still_works(bench: Bench) -> None:
    """An honest agent plays after (or beside) whatever was done."""
    assert bench.findings(HONEST, step=0) == "NORTH"


def failing(bench: Bench, body: str, *, seconds: float = 20.0) -> Player:
    """A player whose first move ends its process; the loan has ended too."""
    source = "import os, sys, ctypes, signal, time\n" + body
    with bench.seat(bench.bundle(source)) as player:
        player.start()
        with pytest.raises(EOFError):
            player.act(seconds, step=0)
        player.loan.end()
    return player


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
    assert processes_of_box(uid) == []
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
    assert processes_of_box(bench.findings(source, step=0)) == []


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


def test_the_network_is_refused_at_once(bench: Bench) -> None:
    source = """
import socket, time
def attempt(family, kind, address):
    try:
        with socket.socket(family, kind) as s:
            s.settimeout(5)
            s.connect(address)
            s.send(b"x")
        return "connected"
    except OSError as error:
        return error.errno
def agent(obs):
    started = time.monotonic()
    found = {
        "tcp": attempt(socket.AF_INET, socket.SOCK_STREAM, ("1.1.1.1", 80)),
        "udp": attempt(socket.AF_INET, socket.SOCK_DGRAM, ("8.8.8.8", 53)),
        "metadata": attempt(socket.AF_INET, socket.SOCK_STREAM, ("169.254.169.254", 80)),
        "tcp6": attempt(socket.AF_INET6, socket.SOCK_STREAM, ("2606:4700::1111", 80)),
        "raw": attempt(socket.AF_INET, socket.SOCK_RAW, ("1.1.1.1", 1)),
        "packet": attempt(socket.AF_PACKET, socket.SOCK_RAW, ("lo", 1)),
        "netlink": attempt(socket.AF_NETLINK, socket.SOCK_RAW, (0, 0)),
        "vsock": attempt(socket.AF_VSOCK, socket.SOCK_STREAM, (2, 1)),
        "alg": attempt(socket.AF_ALG, socket.SOCK_SEQPACKET, ("hash", "sha256")),
        "engine": attempt(socket.AF_UNIX, socket.SOCK_STREAM, "/var/run/docker.sock"),
    }
    try:
        found["dns"] = socket.getaddrinfo("example.com", 80)
    except OSError as error:
        found["dns"] = type(error).__name__
    return [found, time.monotonic() - started < 4]
"""
    found, quick = bench.findings(source, step=0)
    assert quick
    assert {found[kind] for kind in ("tcp", "udp", "metadata", "tcp6", "raw")} == {97}
    assert {found[kind] for kind in ("packet", "netlink", "vsock", "alg")} == {97}
    assert found["engine"] in (2, 13)
    assert found["dns"] == "gaierror"


def test_the_environment_is_empty_and_names_nothing(bench: Bench) -> None:
    source = """
import os, socket, sys
def agent(obs):
    return [dict(os.environ), socket.gethostname(), sys.argv[:1], os.getcwd()]
"""
    environment, host, argv, folder = bench.findings(source, step=0)
    assert environment == {}
    assert (host, argv, folder) == ("box", ["-c"], "/kaggle_simulations/agent")


def test_nothing_of_other_processes_can_be_read(bench: Bench) -> None:
    source = """
import os
def attempt(path):
    try:
        with open(path, "rb") as file:
            file.read(1)
        return "read"
    except OSError as error:
        return "refused"
def agent(obs):
    own = str(os.getpid())
    others = [pid for pid in os.listdir("/proc") if pid.isdigit() and pid != own]
    secrets = ("environ", "mem", "maps", "stack", "auxv", "syscall")
    found = {attempt(f"/proc/{pid}/{name}") for pid in others for name in secrets}
    for pid in others:
        for name in ("fd", "root", "cwd", "ns"):
            try:
                found.add("listed" if os.listdir(f"/proc/{pid}/{name}") is not None else "")
            except OSError:
                pass
    kernel = {p: attempt(p) for p in ("/proc/kcore", "/proc/kmsg", "/proc/sysrq-trigger")}
    return [len(others), sorted(found), sorted(set(kernel.values()))]
"""
    count, found, kernel = bench.findings(source, step=0)
    assert count <= 3  # init, supervisor, zygote
    assert found == ["refused"]
    assert kernel == ["refused"]


def test_nothing_of_the_host_and_nothing_but_scratch_can_be_written(bench: Bench) -> None:
    secret = bench.folder / "secret.txt"
    secret.write_text("secret")
    source = f"""
import os
def attempt(act):
    try:
        act()
        return "done"
    except OSError as error:
        return error.errno
def make(path):
    return attempt(lambda: open(path, "w"))
def agent(obs):
    writes = [make(folder + "/x") for folder in (
        "/", "/etc", "/usr/lib", "/peck", "/peck/peckbox", "/kaggle_simulations",
        "/kaggle_simulations/agent", "/run", "/var", "/home", "/root", "/dev", "/dev/shm",
        "/proc", "/proc/self", "/sys/fs/cgroup", "/sys/fs/cgroup/memory", "/run/peck")]
    main = "/kaggle_simulations/agent/main.py"
    return {{
        "writes": sorted({{w for w in writes}}, key=str),
        "own": [make(main), attempt(lambda: os.chmod(main, 0o777)),
                attempt(lambda: os.unlink(main)), attempt(lambda: os.rename(main, "/tmp/m"))],
        "secret": os.path.exists({str(secret)!r}),
        "host": [p for p in ("/work", "/home/", "/root/.bashrc", "/var/run/docker.sock")
                 if os.path.exists(p) and attempt(lambda: os.listdir(p)) == "done"
                 and os.listdir(p)],
        "setuid": attempt(lambda: os.setuid(0)),
        "mknod": attempt(lambda: os.mknod("/tmp/sda", 0o60666, os.makedev(8, 0))),
        "sysctl": attempt(lambda: open("/proc/sys/kernel/core_pattern", "w")),
        "oom": attempt(lambda: open("/proc/self/oom_score_adj", "w").write("-1000")),
    }}
"""
    found = bench.findings(source, step=0)
    assert set(found["writes"]) <= {1, 2, 13, 30}, found
    assert set(found["own"]) <= {1, 13, 18, 30}, found
    assert found["secret"] is False
    assert found["host"] == []
    for attempt in ("setuid", "mknod", "sysctl", "oom"):
        assert found[attempt] in (1, 13, 30), (attempt, found[attempt])


def test_every_privilege_is_gone(bench: Bench) -> None:
    source = """
import os, resource
def agent(obs):
    with open("/proc/self/status") as file:
        status = dict(line.rstrip().split(":", 1) for line in file)
    fields = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp", "Groups")
    limits = {name: resource.getrlimit(getattr(resource, "RLIMIT_" + name))
              for name in ("NPROC", "NOFILE", "CORE", "MSGQUEUE", "MEMLOCK")}
    return [{f: status[f].strip() for f in fields}, os.getresuid(), os.getresgid(), limits]
"""
    status, uids, gids, limits = bench.findings(source, step=0)
    assert {int(status[f], 16) for f in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {0}
    assert status["NoNewPrivs"] == "1"
    assert status["Seccomp"] == "2"
    assert status["Groups"] == ""
    assert len({*uids, *gids}) == 1
    assert uids[0] >= 1_900_000_000
    assert limits == {
        "NPROC": [44, 44],
        "NOFILE": [64, 64],
        "CORE": [1, 1],
        "MSGQUEUE": [0, 0],
        "MEMLOCK": [65536, 65536],
    }


def test_only_the_agents_own_descriptors_are_open(bench: Bench) -> None:
    source = """
import os
def agent(obs):
    found = []
    for fd in range(1024):
        try:
            os.fstat(fd)
            found.append(fd)
        except OSError:
            pass
    return found
"""
    assert bench.findings(source, step=0) == [0, 1, 2, 3]


def test_dangerous_calls_are_refused(bench: Bench) -> None:
    source = """
import ctypes, platform
libc = ctypes.CDLL(None, use_errno=True)
X86 = dict(unshare=272, setns=308, mount=165, umount2=166, pivot_root=155, chroot=161, ptrace=101,
    process_vm_readv=310, bpf=321, perf_event_open=298, userfaultfd=323, io_uring_setup=425,
    keyctl=250, add_key=248, request_key=249, kexec_load=246, init_module=175, reboot=169,
    settimeofday=164, clock_settime=227, sethostname=170, swapon=167, open_by_handle_at=304,
    name_to_handle_at=303, open_tree=428, move_mount=429, fsopen=430, mount_setattr=442,
    shmget=29, semget=64, msgget=68, mq_open=240, personality=135, seccomp=317, pidfd_getfd=438,
    modify_ldt=154, iopl=172, ioperm=173, quotactl=179, acct=163, syslog=103, vmsplice=278,
    splice=275, fanotify_init=300, kcmp=312, memfd_secret=447, setresuid=117, setgroups=116,
    sched_setscheduler=144, sched_setattr=314, mknod=133, landlock_create_ruleset=444,
    sendmsg=46, sendmmsg=307, inotify_init1=294, inotify_add_watch=254)
ARM = dict(unshare=97, setns=268, mount=40, ptrace=117, bpf=280, io_uring_setup=425, keyctl=219,
    userfaultfd=282, perf_event_open=241, shmget=194, chroot=51, pivot_root=41, sendmsg=211,
    sendmmsg=269, inotify_init1=26)
def call(number, *args):
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) for a in args])
    return ctypes.get_errno() if result < 0 else "done"
def agent(obs):
    arm = platform.machine() == "aarch64"
    found = {name: call(number, 0, 0, 0, 0, 0) for name, number in (ARM if arm else X86).items()}
    clone, clone3 = (220, 435) if arm else (56, 435)
    found["clone_newuser"] = call(clone, 0x10000000 | 17, 0, 0, 0, 0)
    return [found, call(clone3, 0, 0), call(462 + 100, 0), call(29 if arm else 16, 0, 0x5412, 0)]
"""
    found, clone3, unknown, inject = bench.findings(source, step=0)
    assert {name for name, errno in found.items() if errno != 1} == set(), found
    assert clone3 == 38
    assert unknown in (38, 1)  # an engine's own filter may answer first
    assert inject == 1


def test_nothing_that_all_boxes_share_can_be_used_up_or_signalled_through(bench: Bench) -> None:
    source = """
import ctypes, errno, fcntl, mmap, os, resource, socket, struct, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_long
def call(name, *args):
    ctypes.set_errno(0)
    done = getattr(libc, name)(*[ctypes.c_long(a) for a in args]) != -1
    return "done" if done else errno.errorcode[ctypes.get_errno()]
def attempt(act):
    try:
        return act() or "done"
    except (OSError, ValueError) as error:
        return getattr(error, "errno", None) and errno.errorcode[error.errno] or "refused"
def agent(obs):
    one, two = socket.socketpair()
    code = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0xFFFF))
    program = struct.pack("HxxxxxxP", 1, ctypes.addressof(code))
    core = (0, 0)
    return {
        "filter": attempt(lambda: one.setsockopt(1, 26, program)),
        "linger": attempt(lambda: one.setsockopt(1, 13, struct.pack("ii", 1, 60))),
        "buffer": attempt(lambda: one.setsockopt(1, socket.SO_SNDBUF, 4096)),
        "seccomp": call("prctl", 22, 2, ctypes.addressof(code)),
        "core scheduling": call("prctl", 62, 1, 0, 0, 0),
        "name": call("prctl", 15, ctypes.addressof(code)),
        "huge pages": call("mmap", 0, 2 << 20, 3, 0x22 | 0x40000, -1, 0),
        "huge file": call("memfd_create", ctypes.addressof(code), 4),
        "merging": call("madvise", 0, 0, 12),
        "terminal": attempt(lambda: os.open("/dev/ptmx", os.O_RDWR) and None),
        "core limit": attempt(lambda: resource.setrlimit(resource.RLIMIT_CORE, core)),
        "core limit, old call": call("syscall", 160, 4, ctypes.addressof(code))
            if os.uname().machine == "x86_64" else "EPERM",
        "other limit": attempt(lambda: resource.setrlimit(resource.RLIMIT_STACK,
            resource.getrlimit(resource.RLIMIT_STACK))),
    }
"""
    assert bench.findings(source, step=0) == {
        "filter": "EPERM",
        "linger": "EPERM",
        "buffer": "done",
        "seccomp": "EPERM",
        "core scheduling": "EPERM",
        "name": "done",
        "huge pages": "ENOMEM",
        "huge file": "EINVAL",
        "merging": "EPERM",
        "terminal": "EACCES",
        "core limit": "refused",
        "core limit, old call": "EPERM",
        "other limit": "done",
    }


def test_a_foreign_call_table_is_deadly(bench: Bench) -> None:
    body = """
def agent(obs):
    libc = ctypes.CDLL(None)
    libc.syscall(ctypes.c_long(0x40000000 + 39))
    return "alive"
"""
    import platform

    if platform.machine() != "x86_64":
        pytest.skip("x32 exists on x86_64 only")
    assert failing(bench, body).loan.end().signal == 31


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


def test_no_signal_reaches_anything_but_the_agent(bench: Bench) -> None:
    source = """
import os, signal
def attempt(pid):
    try:
        os.kill(pid, signal.SIGKILL)
        return "sent"
    except OSError as error:
        return error.errno
def agent(obs):
    others = [int(p) for p in os.listdir("/proc") if p.isdigit() and int(p) != os.getpid()]
    return sorted({attempt(pid) for pid in [*others, os.getppid(), -1]}, key=str)
"""
    assert set(bench.findings(source, step=0)) <= {1, 3, "sent"}
    still_works(bench)


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
