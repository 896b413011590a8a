"""The system calls that a caller may make: those of one process with internet connections.

Callers share a uid with the daemon and the maker. So this filter confines a compromised caller. It
forbids other programs, new processes, signals, tracing, reading others' memory, unix sockets and
writing files. It allows reading files (the resolver and the loader do), threads, internet sockets
and the kernel's routing sockets.
"""

from __future__ import annotations

import errno
import os
import socket
from typing import Final

from sandbox.box import allowed_syscalls, harden, seccomp
from sandbox.box.seccomp import Instruction

_ALLOWED: Final = """
read write close fstat stat lstat newfstatat statx lseek pread64 readv writev access faccessat
faccessat2 readlink readlinkat getdents64 getcwd statfs fstatfs uname sysinfo
brk mprotect munmap mremap madvise mincore membarrier
poll ppoll select pselect6 epoll_create1 epoll_ctl epoll_wait epoll_pwait
connect bind sendto recvfrom recvmsg shutdown getsockname getpeername getsockopt
rt_sigaction rt_sigprocmask rt_sigreturn sigaltstack restart_syscall
futex set_robust_list get_robust_list rseq set_tid_address gettid sched_yield sched_getaffinity
exit exit_group arch_prctl
clock_gettime clock_getres clock_nanosleep nanosleep gettimeofday time times getrandom getcpu
getpid getppid getuid geteuid getgid getegid getresuid getresgid getpgrp getpgid getsid getgroups
getrlimit getrusage
"""
_SENDMMSG: Final = {"x86_64": 307, "aarch64": 269}
"""The C library sends the two questions for a name with it. Boxes may not use it."""
_CLONE_THREAD: Final = 0x10000
_WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_FCNTL: Final = (1, 2, 3, 4)  # F_GETFD, F_SETFD, F_GETFL, F_SETFL
_IOCTL: Final = (0x5421, 0x541B, 0x5451, 0x5401)  # FIONBIO, FIONREAD, FIOCLEX, TCGETS
_PRCTL: Final = (15, 0x53564D41)  # PR_SET_NAME, PR_SET_VMA: names of threads and of memory
# SO_REUSEADDR, SO_KEEPALIVE, IP_RECVERR, IPV6_RECVERR (the resolver's). 1 is also TCP_NODELAY.
_OPTIONS: Final = (1, 2, 9, 11, 25)
_FAMILIES: Final = (int(socket.AF_INET), int(socket.AF_INET6), int(socket.AF_NETLINK))
_PR_GET_SECCOMP: Final = 21


def compile_filter() -> bytes:
    """The filter for this machine. Raises OSError if there is none."""
    machine = os.uname().machine
    harden.prctl(_PR_GET_SECCOMP)
    try:
        return seccomp.assemble(filter_program(machine))
    except KeyError:
        raise OSError(f"no filter of system calls was written for {machine}") from None


def filter_program(machine: str) -> list[Instruction]:
    """The filter for ``x86_64`` or ``aarch64``. Raises KeyError for another machine."""
    number = allowed_syscalls.call_numbers(machine)
    code = seccomp.filter_start(machine)
    # Their flags cannot be read; those of the older calls can.
    code += seccomp.return_error(number["clone3"], errno.ENOSYS)
    code += seccomp.return_error(number["openat2"], errno.ENOSYS)
    code += seccomp.require_flag_rule(number["clone"], 0, _CLONE_THREAD, errno.EPERM)
    code += seccomp.allow_values_rule(number["socket"], 0, _FAMILIES, errno.EAFNOSUPPORT)
    code += seccomp.allow_values_rule(number["setsockopt"], 2, _OPTIONS, errno.ENOPROTOOPT)
    # It could carry descriptors over the two unix sockets of a caller.
    code += seccomp.deny_values_rule(_SENDMMSG[machine], 0, (0, 1, 2, 3, 4))
    code += seccomp.allow_values_rule(number["fcntl"], 1, _FCNTL, errno.EPERM)
    code += seccomp.allow_values_rule(number["ioctl"], 1, _IOCTL, errno.ENOTTY)
    code += seccomp.allow_values_rule(number["prctl"], 0, _PRCTL, errno.EPERM)
    code += seccomp.deny_flag_rule(number["openat"], 2, _WRITING, errno.EACCES)
    if "open" in number:
        code += seccomp.deny_flag_rule(number["open"], 1, _WRITING, errno.EACCES)
    # Libraries do not map huge pages themselves.
    code += seccomp.deny_flag_rule(number["mmap"], 3, 0x40000, errno.ENOMEM)
    return code + seccomp.filter_end(sorted(number[n] for n in _ALLOWED.split() if n in number))
