"""Take everything away from a process that is about to run a stranger's code.

Called in a freshly forked process; every step that fails raises, and the caller must then end the
process instead of going on. Source of the order: no privilege is dropped before the steps that
need it, and the seccomp filter comes last because it forbids most of the steps before it.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import resource
import struct

from . import seccomp

_LIBC = ctypes.CDLL(None, use_errno=True)
_PR_SET_DUMPABLE = 4
_PR_CAPBSET_DROP = 24
_PR_SET_NO_NEW_PRIVS = 38
_PR_CAP_AMBIENT = 47
_PR_CAP_AMBIENT_CLEAR_ALL = 4
_CAPSET = {"x86_64": 126, "aarch64": 91}
_CAPGET = {"x86_64": 125, "aarch64": 90}
_CAP_VERSION_3 = 0x20080522
_LAST_CAP = 63
_NOT_ZYGOTES = ("NPROC", "NOFILE")
"""Limits that the kernel holds against what a uid has in all, processes and descriptors on their
way through sockets: a zygote's uid may be that of all boxes together."""


def prctl(option: int, *args: int) -> int:
    """prctl(2); OSError when the kernel refuses."""
    values = [ctypes.c_ulong(a) for a in (*args, 0, 0, 0, 0)[:4]]
    result = int(_LIBC.prctl(ctypes.c_int(option), *values))
    if result < 0:
        raise OSError(ctypes.get_errno(), f"prctl({option})")
    return result


def forbid_tracing() -> None:
    """Nobody of the same or another uid may trace this process or read its memory."""
    prctl(_PR_SET_DUMPABLE, 0)


def keep_files(wanted: list[int]) -> None:
    """The given descriptors become 0, 1, 2, ... in this order; every other one is closed."""
    # Moved out of the way first, so that no dup2 below overwrites a descriptor still needed.
    moved = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 32) for fd in wanted]
    for target, fd in enumerate(moved):
        os.dup2(fd, target, inheritable=target < 3)
    os.closerange(len(moved), 1 << 20)


def drop_capabilities() -> None:
    """No capability in any set, and none to be gained; works for root and for anybody."""
    for capability in range(_LAST_CAP):
        try:
            prctl(_PR_CAPBSET_DROP, capability)
        except OSError:
            # Past the kernel's last capability, or no right to drop any: then no_new_privs and
            # the empty sets below keep them away all the same.
            break
    try:
        prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL)
    except OSError:
        pass  # kernels before 4.3 have no ambient set


def empty_capability_sets() -> None:
    """Effective, permitted and inheritable become empty (a change of uid empties only two)."""
    header = struct.pack("=Ii", _CAP_VERSION_3, 0)
    number = _CAPSET[os.uname().machine]
    if _LIBC.syscall(ctypes.c_long(number), header, bytes(24)) != 0:
        raise OSError(ctypes.get_errno(), "capset")


def set_uid(uid: int) -> None:
    """Real, effective and saved uid and gid are ``uid``; no other groups."""
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def set_limits(limits: dict[str, int]) -> None:
    """Set hard limits by name of the resource module, without the prefix ``RLIMIT_``."""
    for name, value in limits.items():
        kind = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(kind)[1]
        wanted = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (wanted, wanted))


def harden(uid: int | None, limits: dict[str, int]) -> None:
    """Everything but the descriptors: for a process that will run or parse hostile input.

    ``uid`` None keeps the uid (a box in which only one exists).
    """
    os.environ.clear()
    harden_parent(limits)
    harden_child(uid, limits, seccomp.compile_filter())


def harden_parent(limits: dict[str, int]) -> None:
    """The part that children inherit and that a zygote, which never executes another program and
    keeps its capabilities, can do once for all of them."""
    drop_capabilities()
    prctl(_PR_SET_NO_NEW_PRIVS, 1)
    set_limits({name: value for name, value in limits.items() if name not in _NOT_ZYGOTES})


def harden_child(uid: int | None, limits: dict[str, int], filter_code: bytes) -> None:
    """The part that every child does itself, after :func:`harden_parent` in it or its parent.

    Few steps on purpose: each page that a fresh child touches is copied for it.
    """
    if uid is not None:
        _write_file("/proc/self/oom_score_adj", b"1000")
    os.setsid()
    if uid is not None:
        set_uid(uid)
    set_limits({name: limits[name] for name in _NOT_ZYGOTES if name in limits})
    empty_capability_sets()
    forbid_tracing()
    seccomp.install_filter(filter_code)


def _write_file(path: str, data: bytes) -> None:
    fd = os.open(path, os.O_WRONLY)
    try:
        os.write(fd, data)
    finally:
        os.close(fd)


def give_up_capability(capability: int) -> None:
    """This process and all after it do without one capability; OSError when that fails."""
    prctl(_PR_CAPBSET_DROP, capability)
    header = struct.pack("=Ii", _CAP_VERSION_3, 0)
    sets = ctypes.create_string_buffer(24)
    if _LIBC.syscall(ctypes.c_long(_CAPGET[os.uname().machine]), header, sets) != 0:
        raise OSError(ctypes.get_errno(), "capget")
    words = list(struct.unpack("=6I", sets.raw))
    half = 3 * (capability // 32)
    for index in range(half, half + 3):
        words[index] &= ~(1 << capability % 32)
    number = _CAPSET[os.uname().machine]
    if _LIBC.syscall(ctypes.c_long(number), header, struct.pack("=6I", *words)) != 0:
        raise OSError(ctypes.get_errno(), "capset")
