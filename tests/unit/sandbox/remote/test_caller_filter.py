"""The callers' filter refuses forbidden system calls and allows the needed ones.

A filtered process tries the calls. The tables of both architectures contain the needed calls.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.remote import caller_processes

ROOT = Path(__file__).parents[4]
TRIES = """
import ctypes, errno, json, os, signal, socket, sys, threading, time
from sandbox.box import harden, seccomp
from sandbox.remote import caller_processes
libc = ctypes.CDLL(None, use_errno=True)
machine = os.uname().machine
number = seccomp.call_numbers(machine)
number |= {name: pair[machine == "aarch64"] for name, pair in
           {"ptrace": (101, 117), "process_vm_readv": (310, 270), "sendmsg": (46, 211),
            "memfd": (319, 279), "io_uring_setup": (425, 425), "unshare": (272, 97),
            "dup": (32, 23), "socketpair": (53, 199)}.items()}
ours, theirs = socket.socketpair()
os.dup2(ours.fileno(), 3)
harden.prctl(38, 1)
seccomp.install_filter(caller_processes.compile_filter())

def call(name, *args):
    ctypes.set_errno(0)
    done = libc.syscall(ctypes.c_long(number[name]), *(ctypes.c_ulong(a) for a in args))
    return errno.errorcode[ctypes.get_errno()] if done < 0 else "done"

def tried(what):
    try:
        what()
        return "done"
    except OSError as error:
        return errno.errorcode[error.errno]

number["sendmmsg"] = caller_processes._SENDMMSG[machine]
parent = os.getppid()
path = ctypes.create_string_buffer(b"/bin/true")
null = ctypes.addressof(ctypes.create_string_buffer(8))
refused = {
    "execve": call("execve", ctypes.addressof(path), 0, 0),
    "execveat": call("execveat", 0, ctypes.addressof(path), 0, 0, 0),
    "fork": call("clone", signal.SIGCHLD, 0, 0, 0, 0),
    "kill": call("kill", parent, 0), "kill all": call("kill", 2**64 - 1, 0),
    "tgkill": call("tgkill", parent, parent, 0), "tkill": call("tkill", parent, 0),
    "queue": call("rt_sigqueueinfo", parent, 0, 0), "pidfd": call("pidfd_open", parent, 0),
    "ptrace": call("ptrace", 16, parent, 0, 0),
    "memory": call("process_vm_readv", parent, 0, 0, 0, 0, 0),
    "unshare": call("unshare", 0x10000000), "uring": call("io_uring_setup", 1, 0),
    "sendmsg": call("sendmsg", 3, 0, 0), "sendmmsg": call("sendmmsg", 3, 0, 0, 0),
    "dup": call("dup", 3), "memfd": call("memfd", null, 0),
    "pair": call("socketpair", 1, 1, 0, 0),
    "own filter": tried(lambda: seccomp.install_filter(caller_processes.compile_filter())),
    "unix": tried(lambda: socket.socket(socket.AF_UNIX)),
    "packet": tried(lambda: socket.socket(17, socket.SOCK_RAW)),
    "write": tried(lambda: os.open("/dev/null", os.O_WRONLY)),
    "create": tried(lambda: os.open("/tmp/peck-none", os.O_CREAT)),
    "fcntl": tried(lambda: os.dup(0)),
    "prctl": tried(lambda: harden.prctl(4, 1)),
}
done = {
    "internet": tried(lambda: [socket.socket(f).close() for f in (2, 10)]),
    "routes": tried(lambda: socket.socket(16, socket.SOCK_RAW, 0).close()),
    "read": tried(lambda: os.close(os.open("/etc/passwd", os.O_RDONLY))),
    "own socket": tried(lambda: os.write(3, b"x")),
}
heard = threading.Event()
threading.Thread(target=heard.set).start()
done["thread"] = "done" if heard.wait(60) else "no"
print(json.dumps([refused, done]))
"""


def test_a_compromised_caller_reaches_no_other_process() -> None:
    tried = subprocess.run(
        [sys.executable, "-c", TRIES], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert tried.returncode == 0, tried.stderr
    refused, done = json.loads(tried.stdout)
    words = {"unix": "EAFNOSUPPORT", "packet": "EAFNOSUPPORT", "write": "EACCES"}
    words["create"] = "EACCES"
    assert refused == {name: words.get(name, "EPERM") for name in refused}
    assert done == dict.fromkeys(done, "done")


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_filter_program_fits_the_kernel_limit(machine: str) -> None:
    assert 100 < len(caller_processes.filter_program(machine)) < 4096


def test_no_caller_starts_without_a_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.uname", lambda: type("U", (), {"machine": "riscv64"}))
    with pytest.raises(OSError, match="written for riscv64"):
        caller_processes.compile_filter()
