"""Takes all rights away from a process before it runs an agent's code.

Call it in a freshly forked process. A failed step raises; the caller must then end the process.
Steps that need a privilege come before it is dropped. The system call filter comes last, because it
forbids most earlier steps.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import resource
import struct

from . import seccomp

_LIBC = ctypes.CDLL(None, use_errno=True)
_PRCTL = _LIBC.prctl
_PRCTL.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]
_SYSCALL = _LIBC.syscall
_SYSCALL.argtypes = [ctypes.c_long, ctypes.c_char_p, ctypes.c_char_p]
_SYSCALL.restype = ctypes.c_long
_PR_SET_DUMPABLE = 4
_PR_CAPBSET_DROP = 24
_PR_SET_NO_NEW_PRIVS = 38
_PR_CAP_AMBIENT = 47
_PR_CAP_AMBIENT_CLEAR_ALL = 4
_CAPSET = {"x86_64": 126, "aarch64": 91}.get(os.uname().machine, -1)
_CAPGET = {"x86_64": 125, "aarch64": 90}.get(os.uname().machine, -1)
_CAP_HEADER = struct.pack("=Ii", 0x20080522, 0)
_NO_CAPABILITIES = bytes(24)
_LAST_CAP = 63
_NOT_ZYGOTES = ("NPROC", "NOFILE")
"""The kernel counts these limits over all processes of a uid. All zygotes may share one uid."""


def prctl(option: int, *args: int) -> int:
    """Call prctl(2). Raises OSError if the kernel refuses."""
    result = int(_PRCTL(option, *(*args, 0, 0, 0, 0)[:4]))
    if result < 0:
        raise OSError(ctypes.get_errno(), f"prctl({option})")
    return result


def forbid_tracing() -> None:
    """Forbid everybody, whatever the uid, to trace this process or read its memory."""
    prctl(_PR_SET_DUMPABLE, 0)


def keep_files(descriptors: list[int]) -> None:
    """Make the given descriptors 0, 1, 2, ... in this order and close all others."""
    # Move them away first, so that no dup2 below overwrites one still needed.
    moved = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 32) for fd in descriptors]
    for target, fd in enumerate(moved):
        os.dup2(fd, target, inheritable=target < 3)
    os.closerange(len(moved), 1 << 20)


def drop_capabilities() -> None:
    """Drop all capabilities from the bounding and the ambient set, so that no program regains them.

    :func:`empty_capability_sets` empties the others. Works for root and other users.
    """
    for capability in range(_LAST_CAP):
        try:
            prctl(_PR_CAPBSET_DROP, capability)
        except OSError:
            # Past the kernel's last capability, or no right to drop one. no_new_privs and the empty
            # sets below suffice then.
            break
    try:
        prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL)
    except OSError:
        pass  # kernels before 4.3 have no ambient set


def empty_capability_sets() -> None:
    """Empty the effective, permitted and inheritable sets. A change of uid empties only two."""
    if _SYSCALL(_CAPSET, _CAP_HEADER, _NO_CAPABILITIES) != 0:
        raise OSError(ctypes.get_errno(), "capset")


def set_uid(uid: int) -> None:
    """Set real, effective and saved uid and gid to ``uid``. Drops all other groups."""
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
    """Apply all steps except ``keep_files``, for a process that reads hostile input.

    With ``uid`` None the uid stays (a box with only one uid).
    """
    os.environ.clear()
    harden_parent(limits)
    harden_child(uid, limits, seccomp.compile_filter())


def harden_parent(limits: dict[str, int]) -> None:
    """Apply the steps that children inherit from a zygote.

    The zygote executes no other program and keeps its capabilities.
    """
    drop_capabilities()
    prctl(_PR_SET_NO_NEW_PRIVS, 1)
    set_limits({name: value for name, value in limits.items() if name not in _NOT_ZYGOTES})


def harden_child(uid: int | None, limits: dict[str, int], filter_code: bytes) -> None:
    """Apply the steps of each child, after :func:`harden_parent` in it or its parent.

    The steps are few, because each page that a fresh child touches is copied.
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
    """Give up one capability for this process and its children. Raises OSError."""
    prctl(_PR_CAPBSET_DROP, capability)
    sets = ctypes.create_string_buffer(24)
    if _SYSCALL(_CAPGET, _CAP_HEADER, sets) != 0:
        raise OSError(ctypes.get_errno(), "capget")
    words = list(struct.unpack("=6I", sets.raw))
    half = 3 * (capability // 32)
    for index in range(half, half + 3):
        words[index] &= ~(1 << capability % 32)
    if _SYSCALL(_CAPSET, _CAP_HEADER, struct.pack("=6I", *words)) != 0:
        raise OSError(ctypes.get_errno(), "capset")
