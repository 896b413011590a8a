"""Imports the profile's libraries, then forks and reaps one child per match.

It never runs an agent's code and never starts a thread, because a fork copies only the calling one.
Only the supervisor talks to it.
"""

from __future__ import annotations

import gc
import importlib
import os
import signal
import site
import socket
import sys
import time
from typing import Any

from . import harden, harness, seccomp, wire

AGENT_FD = 3
KAGGLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kaggle")
"""The folder with the names that agents import from kaggle_environments, in every profile."""


def main(control_fd: int) -> None:
    """Import, report ready, and serve until the supervisor has gone."""
    control = socket.socket(fileno=control_fd)
    setup, entry = wire.receive_frame(control, max_fds=1)
    harden.forbid_tracing()
    if entry:
        # Once per box, not per match: moving into a group waits for the kernel's grace period. A
        # fork into the parent's group does not.
        os.write(entry[0], b"0")
        wire.close_all(entry)
    sys.path[:] = [entry for entry in sys.path if entry not in setup["forget_paths"]]
    sys.path += [KAGGLE, *setup["library_paths"]]
    # The interpreter runs without its own site-packages, but exit() and quit() belong to Python.
    site.setquit()
    for name in setup["imports"]:
        importlib.import_module(name)
    harness.prepare_zygote()
    filter_codes = (b"", b"")
    if setup["mode"] != "plain":
        harden.harden_parent(setup["limits"])
        filter_codes = (seccomp.compile_filter(), seccomp.compile_filter(has_network=True))
        for code in filter_codes:
            seccomp.prepare_filter(code)
    os.environ.clear()
    os.environ.update(setup["environment"])
    gc.freeze()
    wire.send_frame(control, {"op": "ready", "pid": os.getpid(), "python": sys.version.split()[0]})
    while True:
        try:
            message, fds = wire.receive_frame(control, max_fds=3)
        except wire.ConnectionClosed:
            return
        if message["op"] == "fork":
            answer, stat = fork_child(setup, message, fds, filter_codes[message["network"]])
            wire.send_frame(control, answer, tuple(stat))
            wire.close_all(stat)
        elif message["op"] == "look":
            wire.send_frame(control, {"status": _wait_for_exit(message["pid"], message["seconds"])})
        elif message["op"] == "reap":
            wire.send_frame(control, end_and_reap(message["pid"], message["seconds"]))


def fork_child(
    setup: dict[str, Any], message: dict[str, Any], fds: list[int], filter_code: bytes
) -> tuple[dict[str, Any], list[int]]:
    """Fork a hardened child that waits for the referee's ``start``.

    Returns its pid, or why there is none, and a descriptor of its scheduler statistics if the
    kernel has them.
    """
    report_read, report_write = os.pipe()
    pid = os.fork()
    if pid == 0:
        _run_child(setup, message, [fds[1], fds[2], fds[0], report_write], filter_code)
    os.close(report_write)
    wire.close_all(fds)
    try:
        report = os.read(report_read, 500)
    finally:
        os.close(report_read)
    if report != b"ok":
        why = report.decode("utf-8", "replace") or "the child died at once"
        return {"pid": pid, "error": why}, []
    try:
        return {"pid": pid}, [os.open(f"/proc/{pid}/schedstat", os.O_RDONLY | os.O_CLOEXEC)]
    except OSError:
        return {"pid": pid}, []


def _run_child(
    setup: dict[str, Any], message: dict[str, Any], files: list[int], filter_code: bytes
) -> None:
    """``files``: the two log pipes, the referee's connection, the report."""
    code = 70
    report_write = files[3]
    try:
        try:
            # An input of its own: matches could leave flags on an open file that they share.
            harden.keep_files([os.open("/dev/null", os.O_RDONLY), *files])
            report_write = 4
            if setup["mode"] == "plain":
                os.setsid()
            else:
                harden.harden_child(message["uid"], setup["limits"], filter_code)
            os.chdir(setup["agent_dir"])
        except BaseException as error:
            os.write(report_write, f"hardening failed: {error!r}".encode()[:400])
            os._exit(code)
        os.write(report_write, b"ok")
        os.close(report_write)
        harness.warm_up()
        sock = socket.socket(fileno=AGENT_FD)
        sock.settimeout(None)
        mark = message["mark"].encode() + b":"
        harness.serve_agent(sock, setup["agent_dir"], mark, waits=message["waits"])
        code = 0
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 0 if stop.code is None else 1
    except BaseException:
        sys.excepthook(*sys.exc_info())
        code = 1
    finally:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except BaseException:
                pass
        os._exit(code & 0xFF)


def end_and_reap(pid: int, seconds: float) -> dict[str, int | None]:
    """End the child. Returns its status if it ended itself within ``seconds``, else None.

    The node has killed nothing yet. The cleanup kills what the child forked. With only one uid
    (single and plain mode) the child's session is killed here.
    """
    status = _wait_for_exit(pid, seconds)
    for send in (os.killpg, os.kill):
        try:
            send(pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass
    if status is None:
        try:
            os.waitpid(pid, 0)  # nothing survives SIGKILL, and the group was thawed
        except ChildProcessError:
            pass
    return {"status": status}


def _wait_for_exit(pid: int, seconds: float) -> int | None:
    """The child's status, or None if it still runs after ``seconds``."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            ended_pid, status = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            return None
        if ended_pid:
            return status
        if time.monotonic() >= deadline:
            return None
        time.sleep(0.0003)
