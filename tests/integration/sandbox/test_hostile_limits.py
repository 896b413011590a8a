"""The exact state of an agent in its box: rights, limits, descriptors, refusals.

Probes answer with their successes, so that a test compares findings and not silence.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.integration.sandbox.nodes import Bench, Probe

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


@pytest.fixture(scope="module")
def probe(bench: Bench) -> Iterator[Probe]:
    with bench.prober() as asked:
        yield asked


def test_environment_names_nothing_of_the_host(probe: Probe) -> None:
    source = """
import os, socket, sys
def agent(obs):
    return [dict(os.environ), socket.gethostname(), sys.argv[:1], os.getcwd()]
"""
    environment, host, argv, folder = probe(source)
    assert environment == {
        "PATH": "/peck/python/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "USER": "agent",
        "LOGNAME": "agent",
        "HOME": "/tmp",
        "NUMBA_CACHE_DIR": "/tmp/numba",
        **dict.fromkeys(THREADS, "1"),
    }
    assert (host, argv, folder) == ("box", ["-c"], "/kaggle_simulations/agent")


def test_every_privilege_is_gone(probe: Probe) -> None:
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
    status, uids, gids, limits = probe(source)
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


def test_only_the_agents_own_descriptors_are_open(probe: Probe) -> None:
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
    assert probe(source) == [0, 1, 2, 3]


def test_shared_kernel_resources_cannot_be_exhausted_or_carry_messages(probe: Probe) -> None:
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
    assert probe(source) == {
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
