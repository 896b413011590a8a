"""Builds our system call filter as BPF, so that a box needs no library for it.

The filter is an allow-list. A listed call that is not allowed returns EPERM. An unknown call
returns ENOSYS, so newer C libraries use an older call. The filter comes on top of the container
engine's; in a bubblewrap box it is the only one.

The table has the numbers on x86_64 and aarch64. Source: Linux 6.1's asm/unistd_64.h and
asm-generic/unistd.h. ``-`` means that the machine lacks the call. The filter refuses every call
that is missing here. Among them are namespaces, mounts, tracing, keys, bpf, io_uring, perf,
userfaultfd, message queues, shared memory segments and splicing. Calls for modules, clocks, the
host name, devices and scheduling classes are missing too.

Some calls are missing for less obvious reasons:

- ``sendmsg`` and ``sendmmsg`` carry descriptors. The reader closes them, and closing a prepared
  file can take hours or free a gigabyte.
- ``inotify``: boxes share the inodes of their libraries.
- ``timerfd`` and ``signalfd``: a timer with 100,000 epoll items holds a core for tens of
  milliseconds. No process is charged for this interrupt.
- ``sysinfo`` reports the host's memory in use, so boxes could signal through shared memory.
- ``sched_setaffinity`` can keep a process on a core that another box uses. The kernel could not
  move one of them to a free core.
"""

from __future__ import annotations

import ctypes
import errno
import os
import socket
import struct
from typing import Any

NEWEST = 450
"""set_mempolicy_home_node. Calls above it are unknown to this table and return ENOSYS."""

_ALLOWED = """
read 0 63; write 1 64; open 2 -; close 3 57; stat 4 -; fstat 5 80; lstat 6 -; poll 7 -;
lseek 8 62; mprotect 10 226; munmap 11 215; brk 12 214; rt_sigaction 13 134;
rt_sigprocmask 14 135; rt_sigreturn 15 139; pread64 17 67; pwrite64 18 68; readv 19 65;
writev 20 66; access 21 -; pipe 22 -; select 23 -; sched_yield 24 124; mremap 25 216;
msync 26 227; mincore 27 232; dup 32 23; dup2 33 -; pause 34 -;
nanosleep 35 101; getitimer 36 102; alarm 37 -; setitimer 38 103; getpid 39 172; sendfile 40 71;
connect 42 203; accept 43 202; sendto 44 206; recvfrom 45 207; recvmsg 47 212;
shutdown 48 210; bind 49 200; listen 50 201; getsockname 51 204; getpeername 52 205;
getsockopt 55 209; fork 57 -; vfork 58 -; execve 59 221; exit 60 93;
wait4 61 260; kill 62 129; uname 63 160;
truncate 76 45; ftruncate 77 46; getdents 78 -; getcwd 79 17; chdir 80 49; fchdir 81 50;
rename 82 -; mkdir 83 -; rmdir 84 -; creat 85 -; link 86 -; unlink 87 -; symlink 88 -;
readlink 89 -; chmod 90 -; fchmod 91 52; chown 92 -; fchown 93 55; lchown 94 -; umask 95 166;
gettimeofday 96 169; getrlimit 97 163; getrusage 98 165; times 100 153;
getuid 102 174; getgid 104 176; geteuid 107 175; getegid 108 177; setpgid 109 154;
getppid 110 173; getpgrp 111 -; setsid 112 157; getgroups 115 158; getresuid 118 148;
getresgid 120 150; getpgid 121 155; getsid 124 156; capget 125 90; rt_sigpending 127 136;
rt_sigtimedwait 128 137; rt_sigqueueinfo 129 138; rt_sigsuspend 130 133; sigaltstack 131 132;
utime 132 -; statfs 137 43; fstatfs 138 44; getpriority 140 141;
sched_getparam 143 121; sched_getscheduler 145 120; sched_get_priority_max 146 125;
sched_get_priority_min 147 126; sched_rr_get_interval 148 127; mlock 149 228; munlock 150 229;
mlockall 151 230; munlockall 152 231; arch_prctl 158 -;
gettid 186 178; readahead 187 213; getxattr 191 8; lgetxattr 192 9; fgetxattr 193 10;
listxattr 194 11; llistxattr 195 12; flistxattr 196 13; tkill 200 130; time 201 -; futex 202 98;
sched_getaffinity 204 123; set_thread_area 205 -;
get_thread_area 211 -; epoll_create 213 -; getdents64 217 61; set_tid_address 218 96;
restart_syscall 219 128; timer_create 222 107; timer_settime 223 110;
timer_gettime 224 108; timer_getoverrun 225 109; timer_delete 226 111; clock_gettime 228 113;
clock_getres 229 114; clock_nanosleep 230 115; exit_group 231 94; epoll_wait 232 -;
epoll_ctl 233 21; tgkill 234 131; utimes 235 -; get_mempolicy 239 236; waitid 247 95;
openat 257 56;
mkdirat 258 34; fchownat 260 54; futimesat 261 -; newfstatat 262 79; unlinkat 263 35;
renameat 264 38; linkat 265 37; symlinkat 266 36; readlinkat 267 78; fchmodat 268 53;
faccessat 269 48; pselect6 270 72; ppoll 271 73; set_robust_list 273 99;
get_robust_list 274 100; utimensat 280 88; epoll_pwait 281 22;
eventfd 284 -; fallocate 285 47; accept4 288 242; eventfd2 290 19;
epoll_create1 291 20; dup3 292 24; pipe2 293 59; preadv 295 69;
pwritev 296 70; rt_tgsigqueueinfo 297 240; recvmmsg 299 243;
getcpu 309 168; renameat2 316 276; getrandom 318 278;
execveat 322 281; membarrier 324 283; mlock2 325 284; copy_file_range 326 285; preadv2 327 286;
pwritev2 328 287; pkey_mprotect 329 288; pkey_alloc 330 289; pkey_free 331 290; statx 332 291;
rseq 334 293; pidfd_send_signal 424 424; pidfd_open 434 434; close_range 436 436;
openat2 437 437; faccessat2 439 439; epoll_pwait2 441 441; futex_waitv 449 449;
"""

_EXAMINED = """
ioctl 16 29; socket 41 198; socketpair 53 199; clone 56 220; clone3 435 435; setsockopt 54 208;
fcntl 72 25; flock 73 32; prctl 157 167; setrlimit 160 164; prlimit64 302 261; mmap 9 222;
madvise 28 233; memfd_create 319 279; fadvise64 221 223; setpriority 141 140; getsockopt 55 209;
fsync 74 82; fdatasync 75 83; sync_file_range 277 84;
"""


def _read_column(text: str, column: int) -> dict[str, int]:
    rows = (row.split() for row in text.split(";") if row.strip())
    return {row[0]: int(row[column]) for row in rows if row[column] != "-"}


def allowed_calls(machine: str) -> list[int]:
    """Numbers of the calls that are allowed with any arguments, in rising order."""
    return sorted(_read_column(_ALLOWED, _COLUMNS[machine]).values())


def call_numbers(machine: str) -> dict[str, int]:
    """Numbers of all calls of both tables, by name."""
    return _read_column(_ALLOWED + _EXAMINED, _COLUMNS[machine])


def examined_calls(machine: str) -> dict[str, int]:
    """Numbers of the calls whose arguments decide."""
    return _read_column(_EXAMINED, _COLUMNS[machine])


_COLUMNS = {"x86_64": 1, "aarch64": 2}


_PRCTL_CALL = ctypes.CDLL(None, use_errno=True).prctl
_PRCTL_CALL.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]
_PREPARED: dict[bytes, tuple[int, Any, Any]] = {}
"""By code: the address for the kernel, and the buffers that must stay."""
_PR_SET_SECCOMP = 22
_MODE_FILTER = 2

_LOAD, _JEQ, _JGE, _JGT, _AND, _JSET, _RETURN = 0x20, 0x15, 0x35, 0x25, 0x54, 0x45, 0x06
_ALLOW = 0x7FFF0000
_ERRNO = 0x00050000
_KILL = 0x80000000
_NR, _ARCH, _ARG = 0, 4, 16  # offsets in struct seccomp_data; an argument is 8 bytes long

_ARCHES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_NEW_NAMESPACES = 0x7E020080  # every CLONE_NEW flag
# No internet sockets, although they reach nothing: their buffers use the host's share of TCP
# memory. SO_LINGER can delay their closing. Their traffic stays in the network's counters. Programs
# that need TCP get it with limits, for one match a box.
_SOCKET_FAMILIES = (socket.AF_UNIX,)
_SOCKET_TYPES = (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET)
# Size, timeouts, reuse and credentials. Not filters: their code uses memory that all boxes share.
_SOCKET_OPTIONS = (2, 7, 8, 9, 15, 16, 20, 21)
# Kind, error, sizes and peer. Not the cookie, which the host counts over all boxes.
_SOCKET_QUESTIONS = (3, 4, 7, 8, 16, 17, 18, 20, 21, 30, 38, 39)
# Locks on a file that boxes share would be a channel between them, and no box pays for their
# memory. Taking one succeeds without a lock. That suffices for a program alone in its box.
_TAKE_LOCK = (6, 7, 37, 38)  # F_SETLK, F_SETLKW, F_OFD_SETLK, F_OFD_SETLKW
_WATCH_OTHERS = (5, 36, 1024, 1026)  # F_GETLK, F_OFD_GETLK, F_SETLEASE, F_NOTIFY
# Hints on a file that boxes share stay in its inode. Older kernels let every reader set them.
_MARK_SHARED = (1036, 1038)  # F_SET_RW_HINT, F_SET_FILE_RW_HINT
# More filters use memory outside the box. Core scheduling keeps others off a core. The last does
# the same as _MADV_MERGEABLE, for all memory.
_PRCTL = (22, 62, 67)  # PR_SET_SECCOMP, PR_SCHED_CORE, PR_SET_MEMORY_MERGE
_RLIMIT_CORE = 4
_MAP_HUGETLB, _MFD_HUGETLB = 0x40000, 4  # the host's reserve, outside of every box's memory limit
_MADV_MERGEABLE = 12  # the kernel would compare pages across boxes, on the host's time
_TERMINAL_INJECTION = (0x5412, 0x541C, 0x5423)  # TIOCSTI, TIOCLINUX, TIOCSETD

Instruction = tuple[int, int, int, int]  # code, jump if true, jump if false, constant


def compile_filter(*, has_network: bool = False) -> bytes:
    """The filter for this machine. Raises KeyError for an unknown machine."""
    return assemble(filter_program(os.uname().machine, has_network=has_network))


def prepare_filter(code: bytes) -> int:
    """Lay the filter out for the kernel. Returns the address of its struct sock_fprog.

    A child forked later installs it without touching more pages.
    """
    prepared = _PREPARED.get(code)
    if prepared is None:
        buffer = ctypes.create_string_buffer(code, len(code))
        header = struct.pack("@HP", len(code) // 8, ctypes.addressof(buffer))
        program = ctypes.create_string_buffer(header, len(header))
        prepared = _PREPARED[code] = ctypes.addressof(program), buffer, program
    return prepared[0]


def install_filter(code: bytes) -> None:
    """Install the filter on this process for good. Raises OSError if the kernel refuses.

    Needs no_new_privs. Must be the last step, because it forbids other prctl calls too.
    """
    if _PRCTL_CALL(_PR_SET_SECCOMP, _MODE_FILTER, prepare_filter(code), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_SECCOMP)")


def assemble(instructions: list[Instruction]) -> bytes:
    """Pack the instructions as the kernel's array of struct sock_filter."""
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in instructions)


def filter_program(machine: str, *, has_network: bool = False) -> list[Instruction]:
    """The filter for ``x86_64`` or ``aarch64``. Raises KeyError for another machine.

    ``has_network`` also allows TCP sockets, for a program that listens on a port.
    """
    number = examined_calls(machine)
    code = filter_start(machine)
    if has_network:
        code += _tcp_rule(number["socket"])
        code += _tcp_options_rule(number["setsockopt"])
    code += return_error(number["clone3"], errno.ENOSYS)  # its flags cannot be read; clone's can
    code += _clone_rule(number["clone"])
    code += _socket_rule(number["socket"])
    code += allow_values_rule(number["socketpair"], 0, (socket.AF_UNIX,), errno.EAFNOSUPPORT)
    code += deny_values_rule(number["ioctl"], 1, _TERMINAL_INJECTION)
    code += allow_values_rule(number["setsockopt"], 2, _SOCKET_OPTIONS, errno.EPERM)
    code += return_error(number["flock"], 0)
    # Only advice. It could drop cached pages of a shared library, so boxes could signal with it.
    code += return_error(number["fadvise64"], 0)
    # Scratch is memory. Each of these calls would make the host's disk write, even for a library's
    # file.
    for name in ("fsync", "fdatasync", "sync_file_range"):
        code += return_error(number[name], 0)
    code += allow_values_rule(number["getsockopt"], 2, _SOCKET_QUESTIONS, errno.ENOPROTOOPT)
    code += _setpriority_rule(number["setpriority"])
    code += _fcntl_rule(number["fcntl"])
    code += deny_values_rule(number["prctl"], 0, _PRCTL)
    code += deny_flag_rule(number["mmap"], 3, _MAP_HUGETLB, errno.ENOMEM)
    code += deny_flag_rule(number["memfd_create"], 1, _MFD_HUGETLB, errno.EINVAL)
    code += deny_values_rule(number["madvise"], 2, (_MADV_MERGEABLE,))
    # The limit on core files keeps the host's crash handler from starting.
    code += deny_values_rule(number["setrlimit"], 0, (_RLIMIT_CORE,))
    code += _prlimit_rule(number["prlimit64"])
    return code + filter_end(allowed_calls(machine))


def filter_start(machine: str) -> list[Instruction]:
    """The filter's beginning: checks the machine and loads the call's number."""
    code: list[Instruction] = [
        (_LOAD, 0, 0, _ARCH),
        (_JEQ, 1, 0, _ARCHES[machine]),
        (_RETURN, 0, 0, _KILL),  # another machine's call numbers would pass every check below
        (_LOAD, 0, 0, _NR),
    ]
    if machine == "x86_64":
        code += [(_JGE, 0, 1, 0x40000000), (_RETURN, 0, 0, _KILL)]  # the x32 call table
    return code


def filter_end(allowed: list[int]) -> list[Instruction]:
    """The filter's end: allows these calls, in rising order, and no others."""
    code: list[Instruction] = []
    for low, high in _ranges(allowed):
        code += [(_JGE, 0, 2, low), (_JGT, 1, 0, high), (_RETURN, 0, 0, _ALLOW)]
    code += [
        (_JGT, 0, 1, NEWEST),
        (_RETURN, 0, 0, _ERRNO | errno.ENOSYS),
        (_RETURN, 0, 0, _ERRNO | errno.EPERM),
    ]
    return code


def return_error(call: int, code: int) -> list[Instruction]:
    """The call does nothing and returns this error, or 0."""
    return [(_JEQ, 0, 1, call), (_RETURN, 0, 0, _ERRNO | code)]


def _clone_rule(call: int) -> list[Instruction]:
    body: list[Instruction] = [
        (_LOAD, 0, 0, _ARG),
        (_JSET, 0, 1, _NEW_NAMESPACES),
        (_RETURN, 0, 0, _ERRNO | errno.EPERM),
        (_RETURN, 0, 0, _ALLOW),
    ]
    return [(_JEQ, 0, len(body), call), *body]


def _socket_rule(call: int) -> list[Instruction]:
    types: list[Instruction] = [(_LOAD, 0, 0, _ARG + 8), (_AND, 0, 0, 0xF)]
    types += _allow_values(_SOCKET_TYPES)
    types.append((_RETURN, 0, 0, _ERRNO | errno.EPERM))
    families: list[Instruction] = [(_LOAD, 0, 0, _ARG)]
    count = len(_SOCKET_FAMILIES)
    families += [(_JEQ, count - i, 0, int(f)) for i, f in enumerate(_SOCKET_FAMILIES)]
    families.append((_RETURN, 0, 0, _ERRNO | errno.EAFNOSUPPORT))
    body = families + types
    return [(_JEQ, 0, len(body), call), *body]


def _tcp_rule(call: int) -> list[Instruction]:
    """Allow TCP sockets of both internet families. Later rules decide on other sockets.

    All other internet sockets (MPTCP, which Go tries first, UDP, raw) get the error of a kernel
    that lacks them. So programs continue without them.
    """
    refusal = (_RETURN, 0, 0, _ERRNO | errno.EPROTONOSUPPORT)
    kinds: list[Instruction] = [
        (_LOAD, 0, 0, _ARG + 8),
        (_AND, 0, 0, 0xF),
        (_JEQ, 1, 0, int(socket.SOCK_STREAM)),
        refusal,
        (_LOAD, 0, 0, _ARG + 16),
        *_allow_values((0, socket.IPPROTO_TCP)),
        refusal,
    ]
    body: list[Instruction] = [
        (_LOAD, 0, 0, _ARG),
        (_JEQ, 1, 0, int(socket.AF_INET)),
        (_JEQ, 0, len(kinds), int(socket.AF_INET6)),
        *kinds,
        (_LOAD, 0, 0, _NR),
    ]
    return [(_JEQ, 0, len(body), call), *body]


def _tcp_options_rule(call: int) -> list[Instruction]:
    """Allow one option of TCP and one of IPv6. Other TCP options succeed and do nothing.

    Later rules decide on options of the socket level.
    """
    refusal = (_RETURN, 0, 0, _ERRNO | errno.EPERM)
    option = (_LOAD, 0, 0, _ARG + 16)
    of_tcp = [option, *_allow_values((socket.TCP_NODELAY,)), (_RETURN, 0, 0, _ERRNO)]
    of_ipv6 = [option, *_allow_values((socket.IPV6_V6ONLY,)), refusal]
    body: list[Instruction] = [
        (_LOAD, 0, 0, _ARG + 8),
        (_JEQ, 3 + len(of_tcp) + len(of_ipv6), 0, socket.SOL_SOCKET),
        (_JEQ, 2, 0, socket.IPPROTO_TCP),
        (_JEQ, 1 + len(of_tcp), 0, socket.IPPROTO_IPV6),
        refusal,
        *of_tcp,
        *of_ipv6,
        (_LOAD, 0, 0, _NR),
    ]
    return [(_JEQ, 0, len(body), call), *body]


def allow_values_rule(call: int, arg: int, values: tuple[int, ...], code: int) -> list[Instruction]:
    """Allow the call only with one of these values in an argument's lower half; else the error."""
    body: list[Instruction] = [(_LOAD, 0, 0, _ARG + 8 * arg), *_allow_values(values)]
    body.append((_RETURN, 0, 0, _ERRNO | code))
    return [(_JEQ, 0, len(body), call), *body]


def deny_values_rule(call: int, arg: int, values: tuple[int, ...]) -> list[Instruction]:
    """Refuse the call (EPERM) with one of these values in an argument's lower half."""
    body: list[Instruction] = [(_LOAD, 0, 0, _ARG + 8 * arg)]
    for value in values:
        body += [(_JEQ, 0, 1, value), (_RETURN, 0, 0, _ERRNO | errno.EPERM)]
    body.append((_RETURN, 0, 0, _ALLOW))
    return [(_JEQ, 0, len(body), call), *body]


def require_flag_rule(call: int, arg: int, flag: int, code: int) -> list[Instruction]:
    """Allow the call only with at least one of these bits in an argument; else the error."""
    body: list[Instruction] = [
        (_LOAD, 0, 0, _ARG + 8 * arg),
        (_JSET, 1, 0, flag),
        (_RETURN, 0, 0, _ERRNO | code),
        (_RETURN, 0, 0, _ALLOW),
    ]
    return [(_JEQ, 0, len(body), call), *body]


def deny_flag_rule(call: int, arg: int, flag: int, code: int) -> list[Instruction]:
    """Allow the call only with none of these bits in an argument; else the error."""
    body: list[Instruction] = [
        (_LOAD, 0, 0, _ARG + 8 * arg),
        (_JSET, 0, 1, flag),
        (_RETURN, 0, 0, _ERRNO | code),
        (_RETURN, 0, 0, _ALLOW),
    ]
    return [(_JEQ, 0, len(body), call), *body]


def _fcntl_rule(call: int) -> list[Instruction]:
    body: list[Instruction] = [(_LOAD, 0, 0, _ARG + 8)]
    for commands, code in ((_TAKE_LOCK, 0), (_WATCH_OTHERS + _MARK_SHARED, errno.EPERM)):
        for command in commands:
            body += [(_JEQ, 0, 1, command), (_RETURN, 0, 0, _ERRNO | code)]
    body.append((_RETURN, 0, 0, _ALLOW))
    return [(_JEQ, 0, len(body), call), *body]


def _prlimit_rule(call: int) -> list[Instruction]:
    """Allow prlimit64 of RLIMIT_CORE only without a new value, whose address is 64 bits long."""
    body: list[Instruction] = [
        (_LOAD, 0, 0, _ARG + 8),
        (_JEQ, 0, 5, _RLIMIT_CORE),
        (_LOAD, 0, 0, _ARG + 16),
        (_JEQ, 0, 2, 0),
        (_LOAD, 0, 0, _ARG + 20),
        (_JEQ, 1, 0, 0),
        (_RETURN, 0, 0, _ERRNO | errno.EPERM),
        (_RETURN, 0, 0, _ALLOW),
    ]
    return [(_JEQ, 0, len(body), call), *body]


def _setpriority_rule(call: int) -> list[Instruction]:
    """Refuse a higher priority and other processes'. A lower one succeeds and does nothing.

    A process behind all others of its box would take minutes to end.
    """
    body: list[Instruction] = [
        (_LOAD, 0, 0, _ARG + 8),
        (_JEQ, 0, 2, 0),
        (_LOAD, 0, 0, _ARG + 16),
        (_JGE, 0, 1, 0x80000000),
        (_RETURN, 0, 0, _ERRNO | errno.EPERM),
        (_RETURN, 0, 0, _ERRNO),
    ]
    return [(_JEQ, 0, len(body), call), *body]


def _allow_values(values: tuple[int, ...]) -> list[Instruction]:
    body: list[Instruction] = []
    for value in values:
        body += [(_JEQ, 0, 1, int(value)), (_RETURN, 0, 0, _ALLOW)]
    return body


def _ranges(numbers: list[int]) -> list[tuple[int, int]]:
    ranges: list[tuple[int, int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1] = (ranges[-1][0], number)
        else:
            ranges.append((number, number))
    return ranges
