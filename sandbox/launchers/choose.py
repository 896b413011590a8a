"""Chooses the launcher that works on this machine."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Sequence
from pathlib import Path

from sandbox import profiles
from sandbox.errors import HostFault
from sandbox.launchers.base import PROBE_MB, BoxSpec, Launcher
from sandbox.profiles import Say

CHOICES = ("auto", "docker", "bubblewrap", "process")


def remove_leftovers(name: str, run_dir: Path, state_dir: Path, say: Say) -> None:
    """Remove what a dead node of this run directory left. Skips launchers that are not installed.

    The caller has the run directory's lock.
    """
    for each in ("docker", "bubblewrap") if name == "auto" else (name,):
        try:
            _make_launcher(each, run_dir, state_dir, say).sweep()
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
    wanted = ("docker", "bubblewrap") if name == "auto" else (name,)
    reasons = []
    for each in wanted:
        try:
            kind = _make_launcher(each, run_dir, state_dir, say, runtime)
            kind.sweep()
            digests = {n: kind.prepare(profiles.get_profile(n), say) for n in names}
            probe_launcher(kind, names[0])
        except HostFault as fault:
            reasons.append(f"{each}: {fault}")
            continue
        return kind, digests
    if name != "auto":
        raise HostFault(reasons[0])
    remedy = TRY if shutil.which("bwrap") else INSTALL
    raise HostFault(f"agents cannot be isolated here ({'; '.join(reasons)}). {remedy}")


INSTALL = "Type as root: apt-get install -y bubblewrap"


TRY = "To see what this machine refuses, type: bwrap --unshare-all --ro-bind / / true"


def _make_launcher(
    name: str, run_dir: Path, state_dir: Path, say: Say, runtime: str = ""
) -> Launcher:
    # Imported here: each launcher needs only its own libraries.
    if name == "docker":
        from sandbox.launchers.docker import DockerLauncher

        return DockerLauncher(run_dir, runtime)
    if name == "bubblewrap":
        from sandbox.launchers.bubblewrap import BubblewrapLauncher

        return BubblewrapLauncher(run_dir, state_dir)
    if name == "process":
        from sandbox.launchers.process import ProcessLauncher

        say("WARNING: launcher 'process' isolates nothing; agents run as this user, for tests only")
        return ProcessLauncher(run_dir)
    raise HostFault(f"launcher {name!r} is not one of {', '.join(CHOICES)}")


def probe_launcher(kind: Launcher, profile: str) -> None:
    """Start one box and remove it, so that a failure shows now and not in a match."""
    from sandbox.launchers import supervisor_client

    name = f"probe-{secrets.token_hex(4)}"  # another node of this engine may start at the same time
    box = kind.start(BoxSpec(name, profiles.get_profile(profile), PROBE_MB, 0))
    try:
        supervisor_client.set_up_box(box)
    finally:
        kind.stop(box)
