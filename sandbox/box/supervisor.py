"""The trusted process of a box. It obeys the node and ends when the node's connection closes.

A box takes one submission for life and plays one seat at a time. The launcher chooses the mode:

- ``uids``: root in the box. Each match has a new uid and a checked cleanup. The box is reusable.
- ``single``: one uid (bubblewrap without root). The box ends after one match.
- ``plain``: no isolation (tests). One match, under the uid of whoever started the box.

Operations are ``setup`` (with the match group's descriptor), ``bind`` (followed by the archive),
``play`` and ``end``. All but ``play`` are answered.

After ``bind``, and after an ``end`` that asks for it, the supervisor *pre-forks* the next match's
child, so no match waits for a fork. The request carries the child's connection, and a separate
frame reports the child.

Log pipes are read on a timer. So a silent agent costs nothing, a printing agent causes no wake-up
in its move, and a flood is slowed.

At its start, before any hostile byte arrives, the supervisor makes the mounts that a launcher
cannot make. The right to mount is then given up for good. The first box of a profile reads the
profile's files into the page cache, because there the paths are the agent's own. So a charged
import costs the same on a new node as on an old one.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import select
import signal
import socket
import sys
from typing import Any

from . import cleanup, harden, loopback, output_capture, wire, working_folder
from .bundle_manifest import MANIFEST_FILE
from .working_folder import UnpackProcess, WorkingFolder

_LIBC = ctypes.CDLL(None, use_errno=True)
_FLAGS = {"read_only": 1, "nosuid": 2, "nodev": 4, "noexec": 8, "noatime": 1024}
_REMOUNT, _BIND = 32, 4096
_CAP_SYS_ADMIN = 21


def mount_all(mounts: list[dict[str, Any]]) -> None:
    """Mount a tmpfs for each entry (``path``, ``options``, ``flags``).

    An entry without options only sets the flags of an existing mount. Raises OSError.
    """
    if not mounts:
        return
    for entry in mounts:
        flags = sum(_FLAGS[name] for name in entry["flags"])
        options = entry.get("options")
        result = _LIBC.mount(
            b"tmpfs",
            os.fsencode(entry["path"]),
            b"tmpfs",
            ctypes.c_ulong(flags if options else flags | _REMOUNT | _BIND),
            options.encode() if options else None,
        )
        if result != 0:
            raise OSError(ctypes.get_errno(), f"mounting at {entry['path']}")
    harden.give_up_capability(_CAP_SYS_ADMIN)


_CHUNK = 1 << 20
_NOT_AGENTS = ("test", "tests", "idlelib", "turtledemo", "lib2to3")


def warm_page_cache(library_paths: list[str]) -> int:
    """Read the standard library and the profile's libraries once. Returns the number of bytes."""
    import sysconfig  # only the process that reads has it in its memory

    count = 0
    for folder in (sysconfig.get_path("stdlib"), *library_paths):
        for here, folders, names in os.walk(folder):
            folders[:] = [name for name in folders if name not in _NOT_AGENTS]
            for name in names:
                count += _read_file(os.path.join(here, name))
    return count


def _read_file(path: str) -> int:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return 0  # agents cannot read it either
    try:
        count = 0
        while chunk := os.read(fd, _CHUNK):
            count += len(chunk)
        return count
    except OSError:
        return 0
    finally:
        os.close(fd)


DRAIN_MS = 10
QUIET_DRAIN_MS = 40
"""Longest pause between two looks at the output of an agent that prints little."""
PIPE_BYTES = 1 << 18


class RunningMatch:
    """What the supervisor keeps while a child plays."""

    def __init__(self, uid: int | None) -> None:
        self.uid = uid
        self.pid = 0
        self.mark = f"\0peck:{os.urandom(8).hex()}"
        self.oom_kills = cleanup.oom_kills()
        self.pause_ms = DRAIN_MS
        budget = [output_capture.MATCH_BYTES]
        mark = self.mark.encode() + b":"
        out_read, self.out_write = _open_pipe()
        err_read, self.err_write = _open_pipe()
        self._out = output_capture.OutputCapture(out_read, mark, budget)
        self._err = output_capture.OutputCapture(err_read, mark, budget)

    def close_write_ends(self) -> None:
        os.close(self.out_write)
        os.close(self.err_write)

    def drain(self) -> None:
        """Read the output. While there is little of it, the pause until the next look doubles."""
        before = self._out.read_bytes + self._err.read_bytes
        self._out.drain()
        self._err.drain()
        is_quiet = self._out.read_bytes + self._err.read_bytes - before < PIPE_BYTES // 8
        self.pause_ms = min(2 * self.pause_ms, QUIET_DRAIN_MS) if is_quiet else DRAIN_MS

    def collect_log(self) -> list[list[Any]]:
        """[step, stdout, stderr] of each step that printed. Closes the pipes."""
        out, err = self._out.texts(), self._err.texts()
        self._out.close()
        self._err.close()
        return [[step, out.get(step, ""), err.get(step, "")] for step in sorted({*out, *err})]


def _open_pipe() -> tuple[int, int]:
    read_end, write_end = os.pipe2(os.O_CLOEXEC)
    try:
        fcntl.fcntl(write_end, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    except OSError:
        pass  # The user's share of pipe memory is used up. Only a printing agent is slowed.
    return read_end, write_end


GRACE_SECONDS = 0.25


def main() -> None:
    """Serve the node at the address in the only argument: ``fd:N`` or a socket's path."""
    kind, _, rest = sys.argv[-1].partition(":")
    if kind == "fd":
        control = socket.socket(fileno=int(rest))
    else:
        control = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        control.connect(rest)
    try:
        Supervisor(control).serve()
    except wire.ConnectionClosed:
        pass


_NO_NETWORK = (
    "contract http: a program that is not Python needs a box with its own network namespace. "
    "This node's launcher has none: use docker or bubblewrap"
)
_ZYGOTE = (
    "import sys; sys.path.append(sys.argv[1]); "
    "from peckbox.zygote import main; main(int(sys.argv[2]))"
)


_ZYGOTE_FD = 10


class Supervisor:
    """The state of one box."""

    def __init__(self, control: socket.socket) -> None:
        control.set_inheritable(False)
        self._control = control
        self._setup: dict[str, Any] = {}
        self._zygote: socket.socket
        self._base: set[int] = set()
        self._touchable: list[str] = []
        self._bound = False
        self._has_network = False
        """Whether the agent may make TCP sockets. If so, its box takes one match."""
        self._unpacker: UnpackProcess
        self._working: WorkingFolder | None = None
        """None in a box whose matches have no own uid."""
        self._matches = 0
        self._spare: RunningMatch | None = None
        self._forked: tuple[dict[str, Any], list[int]] | None = None
        """The report of a child that was forked while the archive was unpacked."""
        self._match: RunningMatch | None = None

    def serve(self) -> None:
        """Answer until the node closes the connection. Then the box dies with us."""
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        while True:
            if self._match is not None:
                while not poll.poll(self._match.pause_ms):
                    self._match.drain()
            message, fds = wire.receive_frame(self._control, max_fds=1)
            try:
                answer = self._answer(message, fds)
            except wire.WireError as error:
                answer = _zygote_failure(error)
            if answer is not None:
                wire.send_frame(self._control, answer)
            if message.get("again") or (answer and answer["op"] == "bound"):
                self._prefork_child(fds)
            wire.close_all(fds)

    def _answer(self, message: dict[str, Any], fds: list[int]) -> dict[str, Any] | None:
        op = message["op"]
        if op == "setup" and not self._setup:
            return self._prepare(message, fds)
        if op == "bind" and self._setup and not self._bound:
            return self._bind(int(message["size"]), fds)
        if op == "play" and self._spare is not None:
            self._match, self._spare = self._spare, None
            return None
        if op == "end" and self._match is not None:
            return self._end(self._match, bool(message["closed"]))
        return {"op": "fault", "reason": f"{op} is not possible now"}

    def _prepare(self, setup: dict[str, Any], entry: list[int]) -> dict[str, Any]:
        self._setup = setup
        os.umask(0o022)
        mount_all(setup.get("mounts", []))
        harden.forbid_tracing()
        if setup["mode"] == "uids":
            self._setup["uid_base"] = usable_uids(int(setup["uid_base"]))
            forbid_terminals()
            self._touchable = [*setup["scratch"], *cleanup.world_writable("/dev")]
        self._prepare_own_folder()
        if setup["warms_page_cache"]:
            _fork_page_cache_reader(setup["library_paths"])
        self._zygote = self._spawn_zygote(entry)
        ready, _ = wire.receive_frame(self._zygote)
        self._base = {1, os.getpid(), int(ready["pid"])}
        self._unpacker = UnpackProcess(setup, self._uid(0))
        return {"op": "ready", "mode": setup["mode"], "python": ready["python"]}

    def _prepare_own_folder(self) -> None:
        """Fill the box's own folder. A box without one has everything under its usual name."""
        own: str | None = self._setup["own_dir"]
        if own is None:
            return
        if self._setup["mode"] == "single":
            working_folder.write_passwd_file(own, os.getuid(), self._setup["environment"]["HOME"])
        library_folder = working_folder.link_openmp(own, self._setup["library_paths"])
        if library_folder is not None:
            environment = self._setup["environment"]
            searched = environment.get("LD_LIBRARY_PATH")
            environment["LD_LIBRARY_PATH"] = (
                f"{library_folder}:{searched}" if searched else library_folder
            )

    def _spawn_zygote(self, entry: list[int]) -> socket.socket:
        ours, theirs = socket.socketpair()
        root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        environment = {**self._setup["environment"], "PYTHONHASHSEED": "0"}
        command = [sys.executable, "-P", "-S", "-s", "-B", "-c", _ZYGOTE, root, str(_ZYGOTE_FD)]
        null = os.open("/dev/null", os.O_RDONLY)
        with theirs:
            os.posix_spawn(
                sys.executable,
                command,
                environment,
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, null, 0),
                    (os.POSIX_SPAWN_DUP2, theirs.fileno(), _ZYGOTE_FD),
                ],
            )
        os.close(null)
        wire.send_frame(ours, self._setup | {"forget_paths": [root]}, tuple(entry))
        return ours

    def _bind(self, size: int, line: list[int]) -> dict[str, Any]:
        self._bound = True
        _copy_archive(self._control, self._unpacker.archive, size)
        return self._unpack(self._unpacker, line)

    def _unpack(self, unpacker: UnpackProcess, line: list[int]) -> dict[str, Any]:
        """Unpack the archive. Meanwhile the zygote forks the first match's child.

        In a box with only one uid it does so later: there the two could disturb each other.
        """
        uid = self._uid(0)
        unpacker.begin()
        early = self._request_child(line[0], waits=True) if uid is not None else None
        report = unpacker.report()
        code = unpacker.end()
        processes = set(self._base)
        if early is not None:
            self._forked = self._receive_child(early)
            processes.add(early.pid)
        # Most agents leave nothing; then the check is enough.
        if uid is not None and cleanup.leftover_processes(processes, 0.0):
            cleanup.kill_and_wipe(uid, self._sweeper_uid(), [])
            if cleanup.leftover_processes(processes, 2.0):
                return {"op": "fault", "reason": "the unpacker left a process behind"}
        if report:
            answer: dict[str, Any] = json.loads(report)
            self._has_network = answer.get("network") is True
            if self._has_network and not (
                self._setup.get("own_network") and loopback.has_no_route()
            ):
                return {"op": "refused", "entry": MANIFEST_FILE, "reason": _NO_NETWORK}
            if self._has_network and early is not None:  # it needs another filter
                self._drop_child(early)
            if uid is not None and answer["op"] == "bound":
                try:
                    self._working = WorkingFolder(self._setup["agent_dir"])
                except OSError as error:
                    return {
                        "op": "fault",
                        "reason": f"the bundle's folder cannot be used: {error}"[:500],
                    }
            return answer
        why = "takes too long to open" if report is None or code == -signal.SIGXCPU else None
        why = why or ("needs too much memory to be opened" if code < 0 else "cannot be opened")
        return {"op": "refused", "entry": None, "reason": f"the archive {why}"}

    def _prefork_child(self, line: list[int]) -> None:
        """Fork and harden the next match's child, which gets the connection of the request.

        The first child may be there already. Then it only gets its files.
        """
        stat: list[int] = []
        try:
            if self._forked is not None and self._spare is not None:
                (report, stat), self._forked = self._forked, None
                self._give_files(self._spare.uid)
            else:
                report, stat = self._receive_child(self._request_child(line[0]))
        except wire.WireError as error:
            report = _zygote_failure(error)
        except OSError as error:
            report = {"op": "fault", "reason": f"the working folder cannot be made: {error}"}
        wire.send_frame(self._control, report, tuple(stat))
        wire.close_all(stat)

    def _give_files(self, uid: int | None) -> None:
        """Write the match's files before its child looks at them."""
        if self._working is not None and uid is not None:
            self._working.restore_files(uid)
            working_folder.write_passwd_file(
                self._setup["own_dir"], uid, self._setup["environment"]["HOME"]
            )

    def _request_child(self, line: int, *, waits: bool = False) -> RunningMatch:
        """Ask the zygote for a child. One that ``waits`` looks at no file before its first message,
        and gets its files later.
        """
        self._matches += 1
        cleanup.reset_times(self._touchable)
        uid = self._uid(1 + self._matches)
        if not waits:
            self._give_files(uid)
        match = RunningMatch(uid)
        request = {
            "op": "fork",
            "uid": match.uid,
            "mark": match.mark,
            "network": self._has_network,
            "waits": waits,
        }
        wire.send_frame(self._zygote, request, (line, match.out_write, match.err_write))
        match.close_write_ends()
        return match

    def _receive_child(self, match: RunningMatch) -> tuple[dict[str, Any], list[int]]:
        answer, stat = wire.receive_frame(self._zygote, max_fds=1)
        match.pid = int(answer["pid"])
        if "error" in answer:
            return {"op": "fault", "reason": answer["error"]}, stat
        self._spare = match
        return {"op": "preforked"}, stat

    def _drop_child(self, match: RunningMatch) -> None:
        """End a child that was forked too early."""
        if self._forked is not None:
            wire.close_all(self._forked[1])
        self._spare = self._forked = None
        self._ask_zygote({"op": "reap", "pid": match.pid, "seconds": 0.0})
        match.collect_log()

    def _end(self, match: RunningMatch, closed: bool) -> dict[str, Any]:
        self._match = None
        seconds = GRACE_SECONDS if closed else 0.0
        if match.uid is not None and cleanup.leftover_processes({*self._base, match.pid}, 0.0):
            # Look before the child is waited for: other processes could delay its end by using the
            # CPU.
            status = self._ask_zygote({"op": "look", "pid": match.pid, "seconds": seconds})
            cleanup.kill_and_wipe(match.uid, self._sweeper_uid(), [])
            self._ask_zygote({"op": "reap", "pid": match.pid, "seconds": 0.0})
        else:
            status = self._ask_zygote({"op": "reap", "pid": match.pid, "seconds": seconds})
        clean = False
        left: list[int] = []
        if self._setup["mode"] == "uids" and match.uid is not None:
            clean, left = self._sweep(match.uid)
        match.drain()
        code = None if status is None else os.waitstatus_to_exitcode(status)
        return {
            "op": "ended",
            "exit_code": code if code is not None and code >= 0 else None,
            "signal": -code if code is not None and code < 0 else None,
            "out_of_memory": cleanup.oom_kills() > match.oom_kills,
            "log": match.collect_log(),
            "clean": clean,
            "left": left[:50],
        }

    def _ask_zygote(self, message: dict[str, Any]) -> int | None:
        wire.send_frame(self._zygote, message)
        status: int | None = wire.receive_frame(self._zygote)[0]["status"]
        return status

    def _sweep(self, uid: int) -> tuple[bool, list[int]]:
        """Clean up. Returns whether nothing is left of the match, and the processes that are."""
        scratch, working = self._setup["scratch"], self._working
        assert working is not None

        def is_clean() -> bool:
            return cleanup.are_empty(scratch) and working.is_clean()

        # Most agents leave nothing; then the check is enough.
        if not cleanup.leftover_processes(self._base, 0.0) and is_clean():
            return True, []
        folders = [*scratch, self._setup["agent_dir"]]
        complete = cleanup.kill_and_wipe(uid, self._sweeper_uid(), folders, working.paths)
        left = cleanup.leftover_processes(self._base, 2.0)
        return complete and not left and is_clean(), left

    def _uid(self, number: int) -> int | None:
        return int(self._setup["uid_base"]) + number if self._setup["mode"] == "uids" else None

    def _sweeper_uid(self) -> int:
        return int(self._setup["uid_base"]) + 999


def _fork_page_cache_reader(library_paths: list[str]) -> None:
    """Read the page cache in a process of its own, so that its memory is freed afterwards."""
    pid = os.fork()
    if pid == 0:
        try:
            warm_page_cache(library_paths)
        finally:
            os._exit(0)
    os.waitpid(pid, 0)


def _zygote_failure(error: wire.WireError) -> dict[str, Any]:
    return {"op": "fault", "reason": f"the zygote failed: {error}"}


def forbid_terminals() -> None:
    """Keep agents from opening terminals: all boxes of a host share a small number of them."""
    try:
        os.chmod("/dev/pts/ptmx", 0)
    except OSError:
        pass  # there is none


def usable_uids(first: int) -> int:
    """``wanted``, or the start of another 1000 uids if this user namespace maps fewer."""
    spans = []
    with open("/proc/self/uid_map") as lines:
        for line in lines:
            inside, _, count = map(int, line.split())
            spans.append((inside, inside + count))
    for base in (first, 20_000 + first // 1000 % 40 * 1000):
        if any(low <= base and base + 1000 <= high for low, high in spans):
            return base
    raise wire.WireError("this user namespace has no 1000 uids to give to matches")


def _copy_archive(control: socket.socket, archive: int, size: int) -> None:
    left = size
    while left:
        chunk = control.recv(min(left, 1 << 20))
        if not chunk:
            raise wire.ConnectionClosed("the node went away inside a bundle")
        left -= len(chunk)
        view = memoryview(chunk)
        while view:
            view = view[os.write(archive, view) :]
    os.lseek(archive, 0, os.SEEK_SET)
