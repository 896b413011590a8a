"""Starts boxes that isolate nothing: plain processes with the same programs, for tests.

An agent under this launcher can do everything that its starter can do. The launcher is never chosen
automatically and warns at start.
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
    """One process tree per box without isolation. A box plays one match."""

    name = "process"
    reusable = False

    def __init__(self, run_dir: Path) -> None:
        self._run_dir = run_dir

    def prepare(self, profile: Profile, say: Say) -> str:
        """Nothing to prepare: the agent sees this interpreter's own libraries."""
        return f"process:{content_digest(profile)}"

    def has(self, profile: Profile) -> bool:
        """Whether this interpreter has the profile's libraries."""
        modules = [
            module for module, name in missing_modules.PROFILE_OF.items() if name == profile.name
        ]
        return not profile.gpu and None not in map(importlib.util.find_spec, modules)

    def gpus(self) -> tuple[Gpu, ...]:
        """Always empty: these boxes get no GPU."""
        return ()

    def start(self, spec: BoxSpec) -> Box:
        """Start a supervisor as our child, with its files in its own folder."""
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
            warms_page_cache=False,  # its libraries are all those of this environment
        )
        return Box(spec, ours, setup, process)

    def stop(self, box: Box) -> None:
        """End the supervisor and remove the folder. The match's end has ended its child."""
        box.hang_up()
        process: subprocess.Popen[bytes] = box.handle
        try:
            process.wait(2)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        shutil.rmtree(self._run_dir / box.spec.name, ignore_errors=True)

    def oom_kills(self, box: Box) -> int:
        """Always 0: without a cgroup nobody counts."""
        return 0

    def lost_by_host(self, box: Box) -> str | None:
        """Always None: an agent can do anything here, so the host is never to blame."""
        return None

    def usable(self, box: Box) -> bool:
        """Always true: no engine is involved."""
        return True

    def sweep(self) -> None:
        """Nothing: processes of a dead node end with its connections, folders with the next
        match.
        """

    def lacks(self) -> tuple[str, ...]:
        """The lack of all isolation."""
        return ("no isolation at all: agents run as this user with its files and its network",)
