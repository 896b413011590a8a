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
    """Remove whatever a dead node of this run directory has left; what is not here is passed over.

    The caller holds the run directory's lock.
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
    """The launcher of this name, and the digest of each profile in ``names`` made ready for it.

    ``auto`` takes Docker where an engine answers and has or can build the images, else bubblewrap,
    else HostFault says in one line what to type. The process launcher, which isolates nothing, is
    only ever taken by name. ``runtime`` is the engine's name of the one that its boxes are to have;
    without an engine there is none, so ``auto`` takes nothing else then.
    """
    if runtime and name not in ("auto", "docker"):
        raise HostFault(f"runtime: {name} has none; {runtime!r} is for the launcher docker")
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
    # Imported here: Docker's library is only needed where it is used, and neither side needs both.
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
    """Start one box and remove it: what cannot work here is said now and not in a match."""
    from sandbox.launchers import supervisor_client

    name = f"probe-{secrets.token_hex(4)}"  # another node of this engine may start just now
    box = kind.start(BoxSpec(name, profiles.get_profile(profile), PROBE_MB, 0))
    try:
        supervisor_client.set_up_box(box)
    finally:
        kind.stop(box)
