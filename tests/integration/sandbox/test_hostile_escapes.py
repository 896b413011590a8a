"""Agents that reach out of their box: for the network, the host, its kernel or other processes.

Probes answer with what they managed to do, so that a test compares findings and not silence.
"""

from __future__ import annotations

import platform

import pytest

from tests.integration.sandbox.nodes import ROOT, Bench, failing, still_works


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
        "host": [p for p in ({str(ROOT)!r}, "/home/", "/root/.bashrc", "/var/run/docker.sock")
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
    if platform.machine() != "x86_64":
        pytest.skip("x32 exists on x86_64 only")
    assert failing(bench, body).loan.end().signal == 31


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
