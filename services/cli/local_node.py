"""Starts a node for matches on this machine, and ends it afterwards."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox import process_guard
from sandbox.errors import HostFault
from sandbox.profiles import cache_dir
from sandbox.settings import LauncherName
from services.cli.saved_login import state_dir
from services.environment_variables import CHECKOUT
from services.run import child_processes

if TYPE_CHECKING:
    from sandbox.match import local_match

NODE_SECONDS = 180.0
"""Longest start of the node in seconds. The first start with an engine builds images."""
LOCK = "command.lock"
"""The command that made a scratch folder holds this lock."""
LEAST_AGE_SECONDS = 60.0
"""A younger scratch folder may have a command that takes its lock now."""


class RunError(Exception):
    """The command cannot run as typed. The message says what to type instead."""


def launcher_named(name: str) -> LauncherName:
    """The launcher of this name. Raises RunError."""
    try:
        return LauncherName(name)
    except ValueError:
        raise RunError(f"--launcher: type one of {', '.join(LauncherName)}") from None


@dataclass(frozen=True, slots=True)
class WantedBoxes:
    """The boxes that a few matches will use."""

    profile: str
    memory_mb: int
    count: int
    """How many to start before a match asks. The node starts further ones when it must."""


@contextlib.contextmanager
def scratch_folder(command: str) -> Iterator[Path]:
    """A temporary folder for bundles and a node. First removes those that killed commands of this
    name left."""
    prefix = f"peck-{command}-"
    for folder in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        with contextlib.suppress(OSError, HostFault):
            _remove_abandoned(folder)
    with tempfile.TemporaryDirectory(prefix=prefix) as name:
        lock = process_guard.lock_file(Path(name) / LOCK, "scratch: another command uses it")
        try:
            yield Path(name)
        finally:
            os.close(lock)


def _remove_abandoned(folder: Path) -> None:
    """Removes a scratch folder of this user. Raises HostFault if its command or node still runs,
    OSError if it is no such folder."""
    status = folder.lstat()
    is_own = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
    if not is_own or time.time() - status.st_mtime < LEAST_AGE_SECONDS:
        return
    (folder / LOCK).stat()  # each scratch folder has a lock
    with contextlib.ExitStack() as held:
        for lock in (folder / LOCK, folder / "node" / "guard.lock"):
            if lock.exists():
                held.callback(os.close, process_guard.lock_file(lock, "scratch: in use"))
        shutil.rmtree(folder)


@contextlib.contextmanager
def node_socket(
    plan: local_match.LocalPlan, launcher: LauncherName, scratch: Path, node: Path | None
) -> Iterator[Path]:
    """The socket of the given node, or of a new node that ends with this process."""
    boxes = WantedBoxes(plan.profile, plan.memory_mb, len(plan.agents))
    with starting_node(boxes, launcher, scratch, node) as wait:
        yield wait()


@contextlib.contextmanager
def starting_node(
    boxes: WantedBoxes, launcher: LauncherName, scratch: Path, node: Path | None
) -> Iterator[Callable[[], Path]]:
    """As ``node_socket``, but yields at once: a function that waits for the node's socket.

    So the caller can read its input, and import what it needs, while the node starts.
    """
    if node is not None:
        yield lambda: _greeted(node)
        return
    # A socket's path has at most 107 characters; a temporary folder stays well below.
    socket, log = scratch / "node.sock", scratch / "node.log"
    paths = [str(CHECKOUT), *filter(None, [os.environ.get("PYTHONPATH")])]
    command = [sys.executable, "-m", "sandbox.node", "--socket", str(socket)]
    command += ["--run-dir", str(scratch / "node"), "--launcher", str(launcher)]
    command += ["--state-dir", str(_libraries_folder()), "--profile", boxes.profile]
    command += ["--warm", str(boxes.count), "--memory-mb", str(boxes.memory_mb)]
    if os.geteuid() == 0:  # a box of an ordinary user may take one match only
        command += ["--no-refill"]
    child = child_processes.spawn(
        "node",
        command,
        log=log,
        death_signal=signal.SIGTERM,
        environment={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
    )
    try:
        yield lambda: _wait_for_node(child, socket, log)
    finally:
        child.stop()


def _greeted(socket: Path) -> Path:
    """The socket of a node that answers. Raises HostFault."""
    from sandbox.match.loans import node_hello  # with the referee; the node starts meanwhile

    node_hello(socket)
    return socket


def _libraries_folder() -> Path:
    """The folder of the profiles' libraries: in the state folder of `peck up`, or the user's
    cache."""
    up = state_dir() / "run" / "node"
    if up.is_dir():
        return up.resolve()
    return cache_dir()


def _wait_for_node(child: child_processes.Child, socket: Path, log: Path) -> Path:
    from sandbox.match.loans import node_hello  # as above

    give_up_at = time.monotonic() + NODE_SECONDS
    while True:
        try:
            node_hello(socket, started=child.process.pid)
            return socket
        except HostFault as fault:
            reason = child_processes.log_tail(log, 3) or str(fault)
            if not child.alive():
                raise RunError(reason) from None
            if time.monotonic() > give_up_at:
                raise HostFault(f"the node did not start: {reason}") from None
        time.sleep(0.05)
