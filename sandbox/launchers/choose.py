"""Chooses the launcher that works on this machine.

The launcher ``process`` isolates nothing: it starts plain processes with the same programs, for
tests. An agent under it can do everything that its starter can do. It is never chosen automatically
and warns at start.
"""

from __future__ import annotations

import importlib.util
import secrets
import shutil
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from sandbox import profiles
from sandbox.box import agent_program
from sandbox.errors import HostFault
from sandbox.launchers import supervisor_client
from sandbox.launchers.base import PROBE_MB, Box, BoxSpec, Launcher, supervisor_setup
from sandbox.launchers.bubblewrap import INSTALL, TRY, BubblewrapLauncher
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
        modules = [
            module for module, name in agent_program.PROFILE_OF.items() if name == profile.name
        ]
        return not profile.gpu and None not in map(importlib.util.find_spec, modules)

    def gpus(self) -> tuple[Gpu, ...]:
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
        return 0

    def lost_by_host(self, box: Box) -> str | None:
        """Always None: an agent can do anything here, so the host is never to blame."""
        return None

    def usable(self, box: Box) -> bool:
        return True

    def sweep(self) -> None:
        """Nothing: processes of a dead node end with its connections, folders with the next
        match.
        """

    def lacks(self) -> tuple[str, ...]:
        return ("no isolation at all: agents run as this user with its files and its network",)


CHOICES = ("auto", "docker", "bubblewrap", "process")


def remove_leftovers(name: str, run_dir: Path, state_dir: Path, say: Say) -> None:
    """Remove what a dead node of this run directory left. Skips launchers that are not installed.

    The caller has the run directory's lock.
    """
    for launcher in ("docker", "bubblewrap") if name == "auto" else (name,):
        try:
            _make_launcher(launcher, run_dir, state_dir, say).sweep()
        except HostFault as fault:
            if name != "auto":
                say(f"not everything could be removed: {fault}")


def choose_launcher(
    name: str,
    names: Sequence[str],
    run_dir: Path,
    state_dir: Path,
    say: Say,
    *,
    runtime: str = "",
) -> tuple[Launcher, dict[str, str]]:
    """Return the launcher of this name, and the digest of each prepared profile in ``names``.

    ``auto`` takes Docker if an engine answers and has or can build the images, else bubblewrap.
    Otherwise it raises HostFault with the command to type. It never takes the process launcher,
    which isolates nothing. ``runtime`` is the engine's name of a runtime for its boxes. It needs an
    engine, so ``auto`` then takes only Docker.
    """
    if runtime and name not in ("auto", "docker"):
        raise HostFault(f"runtime: {name} has none; use the launcher docker for {runtime!r}")
    if runtime:
        name = "docker"
    candidates = ("docker", "bubblewrap") if name == "auto" else (name,)
    reasons = []
    for candidate in candidates:
        try:
            kind = _make_launcher(candidate, run_dir, state_dir, say, runtime)
            kind.sweep()
            digests = {n: kind.prepare(profiles.get_profile(n), say) for n in names}
            probe_launcher(kind, names[0])
        except HostFault as fault:
            reasons.append(f"{candidate}: {fault}")
            continue
        return kind, digests
    if name != "auto":
        raise HostFault(reasons[0])
    remedy = TRY if shutil.which("bwrap") else INSTALL
    raise HostFault(f"agents cannot be isolated here ({'; '.join(reasons)}). {remedy}")


def _make_launcher(
    name: str, run_dir: Path, state_dir: Path, say: Say, runtime: str = ""
) -> Launcher:
    if name == "docker":
        from sandbox.launchers.docker import DockerLauncher  # needs the engine's library

        return DockerLauncher(run_dir, runtime)
    if name == "bubblewrap":
        return BubblewrapLauncher(run_dir, state_dir)
    if name == "process":
        say("WARNING: launcher 'process' isolates nothing; agents run as this user, for tests only")
        return ProcessLauncher(run_dir)
    raise HostFault(f"launcher {name!r} is not one of {', '.join(CHOICES)}")


def probe_launcher(kind: Launcher, profile: str) -> None:
    """Start one box and remove it, so that a failure shows now and not in a match."""
    name = f"probe-{secrets.token_hex(4)}"  # another node of this engine may start at the same time
    box = kind.start(BoxSpec(name, profiles.get_profile(profile), PROBE_MB, 0))
    try:
        supervisor_client.set_up_box(box)
    finally:
        kind.stop(box)
