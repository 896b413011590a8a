"""What a profile is: the libraries an agent finds in its box, pinned by a lock file with hashes.

A profile's libraries lie in one folder that is mounted, or copied into the image, as
``/peck/libraries``; the interpreter's own site-packages are never shown to an agent.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from sandbox.errors import HostFault

BOX_PROGRAM = Path(__file__).parent / "box"
MOUNTED = "/peck/libraries"
"""Where a box finds its profile's libraries."""
_LOCKS = Path(__file__).parent / "profiles"
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

Say = Callable[[str], None]


@dataclass(frozen=True)
class Profile:
    """A name, what the zygote imports ahead, and the pinned libraries behind it."""

    name: str
    imports: tuple[str, ...]
    lock: Path | None

    @property
    def environment(self) -> Mapping[str, str]:
        """What the zygote starts with; the child's environment is empty."""
        return dict.fromkeys(_THREADS, "1")


_ALWAYS = ("random", "json", "math", "collections", "heapq", "kaggle_environments")

PROFILES: Mapping[str, Profile] = {
    "python": Profile("python", _ALWAYS, None),
    "numpy": Profile("numpy", (*_ALWAYS, "numpy.random"), _LOCKS / "numpy.lock"),
}


def get(name: str) -> Profile:
    """The profile of this name; HostFault when there is none."""
    try:
        return PROFILES[name]
    except KeyError:
        raise HostFault(f"profile {name!r} is not one of {', '.join(PROFILES)}") from None


def program() -> Mapping[str, bytes]:
    """The box's program: the content of each file by its path below ``sandbox/box``."""
    paths = sorted(BOX_PROGRAM.rglob("*.py"))
    return {path.relative_to(BOX_PROGRAM).as_posix(): path.read_bytes() for path in paths}


def content_digest(profile: Profile, *more: bytes) -> str:
    """Hex digest of everything of ours that a box of this profile runs."""
    digest = hashlib.sha256()
    for name, content in program().items():
        digest.update(name.encode() + b"\0" + content + b"\0")
    digest.update(profile.lock.read_bytes() if profile.lock else b"-")
    for part in more:
        digest.update(b"\0" + part)
    return digest.hexdigest()


def libraries(profile: Profile, state_dir: Path, say: Say) -> Path | None:
    """The folder with the profile's libraries for this interpreter, installed when missing.

    Readable by everybody; made in a temporary folder and renamed, so it is there whole or not at
    all. HostFault with the last lines of pip when that fails.
    """
    if profile.lock is None:
        return None
    tag = f"{sysconfig.get_python_version()}-{sysconfig.get_platform()}"
    name = hashlib.sha256(profile.lock.read_bytes() + tag.encode()).hexdigest()[:16]
    folder = state_dir / "profiles" / f"{profile.name}-{name}"
    if folder.is_dir():
        return folder
    say(f"installing the libraries of profile {profile.name} (once)")
    folder.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=".new-", dir=folder.parent))
    try:
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--compile"]
        command += ["--require-hashes", "--only-binary", ":all:", "--no-warn-script-location"]
        command += ["--disable-pip-version-check", "--root-user-action", "ignore"]
        command += ["--target", str(made), "-r", str(profile.lock)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, umask=0o022)
        if done.returncode != 0:
            lines = " ".join(done.stderr.strip().splitlines()[-3:])
            raise HostFault(f"the libraries of profile {profile.name} cannot be had: {lines}")
        shutil.rmtree(made / "bin", ignore_errors=True)
        made.chmod(0o755)
        try:
            os.rename(made, folder)
        except OSError:
            if not folder.is_dir():
                raise
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return folder
