"""Removes what a killed node left: containers, control groups, folders and its socket.

``python -m sandbox.node.leftovers --run-dir DIR [--socket PATH] [--launcher NAME]``

The node's guard runs it. If both were killed, an operator or a unit's ``ExecStopPost`` runs it. It
first waits for the daemon's lock and does nothing to a running node.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import socket
import sys
from functools import partial
from pathlib import Path

from sandbox.errors import HostFault
from sandbox.launchers import choose
from sandbox.process_guard import lock_file, print_line

LOCK_SECONDS = 30.0
_print_line = partial(print_line, "node")


def remove_leftovers(run_dir: Path, socket_path: Path | None, state_dir: Path, name: str) -> None:
    """Remove everything that is left. Raises HostFault if a node runs there."""
    with contextlib.ExitStack() as held:
        held.callback(os.close, wait_for_lock(run_dir))
        choose.remove_leftovers(name, run_dir, state_dir, _print_line)
        if socket_path is not None and not _node_answers(socket_path):
            socket_path.unlink(missing_ok=True)


def wait_for_lock(run_dir: Path) -> int:
    """Take the daemon's lock once its predecessor has ended. Raises HostFault if that takes too
    long.
    """
    return lock_file(
        run_dir / "node.lock", f"run-dir: another node runs in {run_dir}", LOCK_SECONDS
    )


def _node_answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        return probe.connect_ex(str(path)) == 0


def main(arguments: list[str] | None = None) -> int:
    """Run the command. Returns the given status, so that the guard ends as its daemon did.

    Returns 2 if a node runs there.
    """
    parser = argparse.ArgumentParser(
        prog="python -m sandbox.node.leftovers", description="removes what a killed node left"
    )
    parser.add_argument("--run-dir", type=Path, required=True)
    parser.add_argument("--state-dir", type=Path)
    parser.add_argument("--socket", type=Path)
    parser.add_argument("--launcher", choices=choose.CHOICES, default="auto")
    parser.add_argument("--status", type=int, default=0, help="what to exit with")
    options = parser.parse_args(arguments)
    run_dir = options.run_dir.resolve()
    if not run_dir.is_dir():
        return int(options.status)
    if options.status:
        _print_line(f"the daemon ended with status {options.status}; removing what it left")
    try:
        remove_leftovers(run_dir, options.socket, options.state_dir or run_dir, options.launcher)
    except HostFault as fault:
        _print_line(str(fault))
        return 2 if options.status == 0 else int(options.status)
    return int(options.status)


if __name__ == "__main__":
    sys.exit(main())
