"""Boxes that isolate nothing: the same programs as plain processes, for tests of other parts.

An agent run by this launcher can do everything its starter can do. It is never chosen by itself,
and says so at start.
"""

from __future__ import annotations

import importlib.util
import shutil
import socket
import subprocess
import sys
from pathlib import Path

from sandbox.box import missing_modules
from sandbox.launchers.base import Box, BoxSpec, supervisor_setup
from sandbox.launchers.gpu import Gpu
from sandbox.profiles import BOX_PROGRAM, Profile, Say, content_digest

PROGRAM = "import sys; sys.path.append(sys.argv[1]); from peckbox.supervisor import main; main()"


class ProcessLauncher:
    """One process tree per box, nothing more; a box takes one match."""

    name = "process"
    reusable = False

    def __init__(self, run_dir: Path) -> None:
        self._run_dir = run_dir

    def prepare(self, profile: Profile, say: Say) -> str:
        """Nothing to be made: the agent sees this interpreter's own libraries."""
        return f"process:{content_digest(profile)}"

    def has(self, profile: Profile) -> bool:
        """Whether this interpreter has the profile's libraries."""
        modules = [
            module for module, name in missing_modules.PROFILE_OF.items() if name == profile.name
        ]
        return not profile.gpu and None not in map(importlib.util.find_spec, modules)

    def gpus(self) -> tuple[Gpu, ...]:
        """None: there is no box to give one to."""
        return ()

    def start(self, spec: BoxSpec) -> Box:
        """A supervisor as our child, its files in a folder of its own."""
        folder = self._run_dir / spec.name
        agent_dir = folder / "agent"
        agent_dir.mkdir(parents=True)
        (folder / "peckbox").symlink_to(BOX_PROGRAM)
        ours, theirs = socket.socketpair()
        with theirs:
            process = subprocess.Popen(
                [sys.executable, "-I", "-B", "-c", PROGRAM, str(folder), f"fd:{theirs.fileno()}"],
                stdin=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                env={},
            )
        own = [path for path in sys.path if path.endswith("site-packages")]
        setup = supervisor_setup(
            spec,
            "plain",
            home=str(agent_dir),
            agent_dir=str(agent_dir),
            scratch=[],
            own_dir=None,
            library_paths=own,
            own_network=False,
        )
        return Box(spec, ours, setup, process)

    def stop(self, box: Box) -> None:
        """End the supervisor, whose child was ended with the match, and remove the folder."""
        box.hang_up()
        process: subprocess.Popen[bytes] = box.handle
        try:
            process.wait(2)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        shutil.rmtree(self._run_dir / box.spec.name, ignore_errors=True)

    def oom_kills(self, box: Box) -> int:
        """Not seen without a cgroup."""
        return 0

    def lost_by_host(self, box: Box) -> str | None:
        """An agent can do anything here, so it is never the host."""
        return None

    def usable(self, box: Box) -> bool:
        """Always: no engine stands behind it."""
        return True

    def sweep(self) -> None:
        """Processes of a dead node end with its connections; folders go with the next match."""

    def lacks(self) -> tuple[str, ...]:
        """Everything."""
        return ("no isolation at all: agents run as this user with its files and its network",)
