"""Shared code of the hostile agents: reports, honest moves, and a search for leftovers.

The bundle holds it beside ``main.py``. It prints findings into the seat's own log, one a line:
``HELD: what`` if the box resisted, ``BREACH: what`` if it did not. Its import looks for traces of
an earlier match in the same box.
"""

import contextlib
import ctypes
import errno
import json
import os
import platform
import random
import signal
import socket
import struct
import sys
from collections.abc import Callable
from typing import Any

AGENT_FD = 3
FIRST_NUMBER = 1000
"""The number of the first agent in a bundle of many."""
libc = ctypes.CDLL(None, use_errno=True)
_PLAN = [random.choice(("EAST", "NORTH")) for _ in range(64)]
_BUFFERS: list[Any] = []
_USED = [0.0]
_IS_ARM = platform.machine() == "aarch64"


def move(obs: Any) -> str:
    """An honest move; east and north alone never lead a short goose into itself."""
    step: int = obs["step"]
    return _PLAN[step]


def held(what: str) -> None:
    """Report that the box resisted."""
    _say("HELD", what)


def breach(what: str) -> None:
    """Report that a forbidden act succeeded."""
    _say("BREACH", what)


def tell(what: str, got_through: object) -> None:
    """Report one finding; it is a breach if ``got_through`` is true."""
    (breach if got_through else held)(what)


def used(seconds: float) -> None:
    """Report this much time used since the last move, by the agent's own clock."""
    used_so_far(_USED[0] + seconds)


def used_so_far(seconds: float) -> None:
    """Report the time used since the start of the match."""
    _USED[0] = max(_USED[0], seconds)
    _say("USED", f"{_USED[0]:.6f}")


def attempt(what: str, act: Callable[..., object], *args: Any) -> None:
    """Report a breach unless the act raises."""
    try:
        act(*args)
    except Exception as error:
        held(f"{what}: {error!r}")
    else:
        breach(what)


def call(number: int, *args: int) -> int:
    """The error number of a system call; 0 on success."""
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) for a in args])
    return ctypes.get_errno() if result < 0 else 0


def refused(what: str, x86: int, arm: int, *args: int) -> None:
    """Report a breach unless the call of this number is forbidden or unknown."""
    number = arm if _IS_ARM else x86
    if number < 0:
        return
    code = call(number, *args)
    tell(f"{what}: {errno.errorcode.get(code, code)}", code not in (errno.EPERM, errno.ENOSYS))


def address(size: int) -> int:
    """The address of a block of zeroes that stays in place."""
    _BUFFERS.append(ctypes.create_string_buffer(size))
    return ctypes.addressof(_BUFFERS[-1])


def frame(body: bytes) -> bytes:
    """The bytes that the referee's connection takes as one frame, for packets and for streams."""
    if connection().getsockopt(socket.SOL_SOCKET, socket.SO_TYPE) == socket.SOCK_SEQPACKET:
        return body
    return struct.pack(">I", len(body)) + body


def connection() -> socket.socket:
    """A second descriptor of the connection to the referee."""
    return socket.socket(fileno=os.dup(AGENT_FD))


def write(body: bytes) -> None:
    """Send one frame with any content."""
    os.write(AGENT_FD, frame(body))


def reply(number: int, action: object) -> bytes:
    """The body of a well-formed answer."""
    return json.dumps({"k": "reply", "n": number, "action": action}).encode()


def in_frames(name: str, wanted: Callable[[Any], bool]) -> Any:
    """A matching local variable of a calling function, or None."""
    here = sys._getframe()
    while here is not None:
        found = here.f_locals.get(name)
        if found is not None and wanted(found):
            return found
        here = here.f_back  # type: ignore[assignment]
    return None


def question() -> int:
    """The number of the current question."""
    message = in_frames("message", lambda m: isinstance(m, dict) and isinstance(m.get("n"), int))
    return int(message["n"]) if message else 0


def secret_mark() -> bytes:
    """The bytes that separate moves in our log, read from the harness."""
    mark = in_frames("mark", lambda m: isinstance(m, bytes))
    return bytes(mark) if mark else b"\0peck:"


def others() -> list[int]:
    """The ids of all other visible processes."""
    return [
        int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()
    ]


def uid_of(pid: int) -> int:
    """The real uid of a process, -1 after its end."""
    try:
        with open(f"/proc/{pid}/status") as lines:
            return next(int(line.split()[1]) for line in lines if line.startswith("Uid:"))
    except (OSError, StopIteration):
        return -1


def first_byte(path: str) -> bytes:
    """The first byte of a file; OSError if it is empty, as masked files are."""
    with open(path, "rb") as file:
        found = file.read(1)
    if not found:
        raise OSError(f"{path} is empty")
    return found


def in_child(act: Callable[[], object]) -> int:
    """Run the act in a forked process that then ends; returns its pid."""
    pid = os.fork()
    if pid:
        return pid
    try:
        act()
    finally:
        os._exit(0)


def _say(kind: str, what: str) -> None:
    line = " ".join(f"{kind}: {what}".split())[:300]
    with contextlib.suppress(OSError):
        os.write(1, line.encode("utf-8", "replace") + b"\n")


def _look() -> None:
    uid = os.getuid()
    for folder in ("/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue", "/run/lock"):
        try:
            found = os.listdir(folder)
        except OSError:
            continue
        if found:
            breach(f"left over in {folder}: {found[:5]!r}")
    for pid in others():
        owner = uid_of(pid)
        # The child for the next match has the next uid, and no agent has run in it.
        if owner > 0 and owner // 1000 == uid // 1000 and owner <= uid:
            breach(f"left over: process {pid} of uid {owner}, ours is {uid}")
    with open("/proc/net/unix") as lines:
        for line in lines:
            if "@" in line:
                breach(f"left over: socket {line.split()[-1]}")
    for kind in ("shm", "sem", "msg"):
        try:
            with open(f"/proc/sysvipc/{kind}") as lines:
                if len(lines.readlines()) > 1:
                    breach(f"left over: SysV {kind}")
        except OSError:
            continue
    for fd in range(AGENT_FD + 1, 256):
        try:
            os.fstat(fd)
        except OSError:
            continue
        breach(f"left over: descriptor {fd}")
    if sorted(os.listdir(".")) != ["main.py", "tests"]:
        breach(f"left over beside main.py: {os.listdir('.')!r}")
    if signal.pthread_sigmask(signal.SIG_BLOCK, []):
        breach("left over: a signal mask")
    os.write(1, b"uid %d\n" % uid)


_look()
