"""Makes the callers, for the daemon.

The *maker* is a process with one thread that has imported everything, including the TLS
authorities. It forks each caller. So a caller starts in milliseconds, needs no file and dies with
its parent. The maker dies with the daemon. It handles one short request after another.

Callers share a uid with the daemon and the maker. So a filter of system calls confines a
compromised caller. It forbids other programs, new processes, signals, tracing, reading others'
memory, unix sockets and writing files. It allows reading files (the resolver and the loader do),
threads, internet sockets and the kernel's routing sockets.
"""

from __future__ import annotations

import contextlib
import ctypes
import encodings.idna  # noqa: F401  TLS asks for it at its first name: too late to be found
import errno
import gc
import os
import secrets
import signal
import socket
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NoReturn

from egress import guarded_connections
from sandbox.box import harden, seccomp, wire, zygote
from sandbox.box.output_capture import MATCH_BYTES, OutputCapture
from sandbox.box.seccomp import Instruction
from sandbox.errors import HostFault
from sandbox.remote import caller
from sandbox.remote.manifest import read_manifest

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
    number = seccomp.call_numbers(machine)
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


ASK_SECONDS: Final = 10.0
ENDING_SECONDS: Final = 0.2
"""Time for a caller that seems to be ending, so that its exit code can be reported."""
MEMORY_BYTES: Final = 1 << 30
COMPLAINT_BYTES: Final = 4000
LIMITS: Final = {
    "CORE": 1,
    "CPU": 120,  # s; a request needs some milliseconds, and a match has some thousands
    "FSIZE": MATCH_BYTES,
    "NOFILE": 64,
    "AS": MEMORY_BYTES,
    "MEMLOCK": 64 << 10,
    "MSGQUEUE": 0,
    "NICE": 0,
    "RTPRIO": 0,
}
_PR_SET_PDEATHSIG: Final = 1
_PR_SET_NO_NEW_PRIVS: Final = 38


@dataclass(frozen=True)
class CallerProcess:
    """A running caller, as the daemon sees it."""

    pid: int
    agent: socket.socket
    """The referee's end."""
    report: socket.socket
    """The caller reports here whether its agent answers, and later what failed in the caller."""
    log: OutputCapture

    def complaint(self) -> str:
        """What the caller reported of its own failure: one quoted line, if any."""
        with contextlib.suppress(OSError):
            if said := self.report.recv(COMPLAINT_BYTES, socket.MSG_DONTWAIT):
                return repr(said.decode("utf-8", "replace"))
        return ""

    def close(self) -> None:
        """Close its connections. The log stays."""
        self.agent.close()
        self.report.close()


class CallerSpawner:
    """Makes and ends callers. All threads of the daemon use it."""

    def __init__(
        self, rules: guarded_connections.Rules, lost: Callable[[], None], say: Callable[[str], None]
    ) -> None:
        """Make it while the daemon has one thread.

        ``lost`` is called if the maker dies, ``say`` with what failed in a caller. Raises OSError
        if callers cannot be confined.
        """
        code = compile_filter()
        self._say = say
        self._control, theirs = socket.socketpair()
        self._lock = threading.Lock()
        self._lost = lost
        daemon = os.getpid()
        self.pid = os.fork()
        if self.pid == 0:
            self._control.close()
            _run_maker(theirs, rules, daemon, code)
        theirs.close()

    def begin(self, manifest: bytes) -> CallerProcess:
        """Start a caller for the agent of this valid remote submission."""
        mark = secrets.token_hex(16)
        with contextlib.ExitStack() as undo:
            theirs: list[int] = []
            undo.callback(wire.close_all, theirs)
            log = os.memfd_create("log", os.MFD_CLOEXEC)
            undo.callback(os.close, log)
            agent, its_agent = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            theirs.append(its_agent.detach())
            undo.enter_context(agent)
            report, its_report = socket.socketpair()
            theirs.append(its_report.detach())
            undo.enter_context(report)
            message = {"op": "begin", "manifest": manifest.decode("ascii"), "mark": mark}
            answer = self._ask(message, (log, *theirs))
            undo.pop_all()
        wire.close_all(theirs)
        captured = OutputCapture(log, mark.encode() + b":", [MATCH_BYTES])
        return CallerProcess(int(answer["pid"]), agent, report, captured)

    def end(
        self, begun: CallerProcess, *, is_ending: bool
    ) -> tuple[int | None, list[tuple[int, str, str]]]:
        """Kill the caller. Returns its log, and its exit code if it ended itself (negative: a
        signal).
        """
        begun.agent.close()
        try:
            seconds = ENDING_SECONDS if is_ending else 0.0
            status = self._ask({"op": "end", "pid": begun.pid, "seconds": seconds})["status"]
            os.lseek(begun.log.fd, 0, os.SEEK_SET)
            while begun.log.drain():
                pass
            log = [(step, text, "") for step, text in sorted(begun.log.texts().items())]
            if complaint := begun.complaint():
                self._say(f"a caller failed: {complaint}")
        finally:
            begun.close()
            begun.log.close()
        return None if status is None else os.waitstatus_to_exitcode(status), log

    def close(self) -> None:
        """End the maker and with it all callers."""
        self._control.close()
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)

    def _ask(self, message: dict[str, Any], fds: tuple[int, ...] = ()) -> dict[str, Any]:
        with self._lock:
            try:
                deadline = time.monotonic() + ASK_SECONDS
                wire.send_frame(self._control, message, fds, deadline=deadline)
                answer, _ = wire.receive_frame(self._control, deadline=deadline)
            except (wire.WireError, OSError) as error:
                self._lost()
                raise HostFault(
                    f"the process that starts callers has died: {error};"
                    " Docker or `peck up` restarts the remote daemon"
                ) from None
        if "fault" in answer:
            raise HostFault(str(answer["fault"]))
        return answer


def _run_maker(
    control: socket.socket, rules: guarded_connections.Rules, daemon: int, code: bytes
) -> NoReturn:
    """Run the maker. Never returns into the daemon's code."""
    try:
        os.setsid()  # Ctrl-C is for the daemon
        _die_with_parent(daemon)
        harden.drop_capabilities()
        harden.prctl(_PR_SET_NO_NEW_PRIVS, 1)
        harden.forbid_tracing()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        harden.keep_files([_open_null(), 1, 2, control.detach()])
        with contextlib.suppress(OSError):  # without authorities https fails with a message
            guarded_connections.tls_context()
        _forget_environment()
        gc.freeze()
        _serve_spawn_requests(socket.socket(fileno=3), rules, code)
    except (wire.ConnectionClosed, wire.WireError):
        os._exit(0)  # the daemon has gone
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(70)


def _serve_spawn_requests(
    control: socket.socket, rules: guarded_connections.Rules, code: bytes
) -> None:
    maker = os.getpid()
    while True:
        message, fds = wire.receive_frame(control, max_fds=3)
        if message["op"] == "begin":
            try:
                pid = os.fork()
            except OSError as error:
                wire.close_all(fds)
                wire.send_frame(control, {"fault": f"no caller can be started: {error.strerror}"})
                continue
            if pid == 0:
                _become_caller(maker, message, fds, rules, code)
            wire.close_all(fds)
            wire.send_frame(control, {"pid": pid})
        else:
            wire.send_frame(control, zygote.end_and_reap(message["pid"], message["seconds"]))


def _become_caller(
    maker: int,
    message: dict[str, Any],
    fds: list[int],
    rules: guarded_connections.Rules,
    filter_code: bytes,
) -> NoReturn:
    """``fds``: the log, the referee's connection and the report's, which also gets our errors."""
    code, complaints = 70, fds[-1]
    try:
        _die_with_parent(maker)
        log, agent, report = fds
        harden.keep_files([_open_null(), log, _open_null(), agent, report])
        complaints = caller.REPORT_FD
        os.setsid()
        harden.set_limits(LIMITS)
        harden.empty_capability_sets()
        harden.forbid_tracing()
        seccomp.install_filter(filter_code)
        address, api = read_manifest(message["manifest"].encode("ascii"))
        caller.run_caller(address, api, rules, message["mark"].encode() + b":")
        code = 0
    except ConnectionError:
        code = 0  # the referee has gone
    except BaseException:
        trace = traceback.format_exc().encode("utf-8", "replace")[-COMPLAINT_BYTES:]
        with contextlib.suppress(OSError):
            os.write(complaints, trace)
    finally:
        os._exit(code)


def _forget_environment() -> None:
    """Clear the environment, including its first bytes, which /proc shows."""
    os.environ.clear()
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    start, end = int(fields[47]), int(fields[48])  # proc(5): the fields 50 and 51
    ctypes.memset(start, 0, end - start)


def _die_with_parent(parent: int) -> None:
    harden.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)


def _open_null() -> int:
    return os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC)
