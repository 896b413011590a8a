"""Profiles: the libraries in an agent's box, pinned by a lock file with hashes.

A profile's libraries are in one folder. It is mounted, or copied into the image, as
``/peck/libraries``. Agents never see the interpreter's own site-packages. Large profiles are built
only by ``python -m sandbox.launchers.profile_cli build --profile NAME``. Without it the node does
not serve them.

Profiles are for Python. A program in another language is an executable of its bundle
(``box.bundle_manifest``), because boxes have no compiler. Another interpreter needs its files in
both launchers (``deploy/images/root_filesystem.py``, ``launchers.bubblewrap``) and its name in
``box.bundle_manifest``.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import py_compile
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from sandbox.errors import HostFault

REMOTE = "remote"
"""Takes the place of a profile if the agent runs at its owner's address."""
BOX_PROGRAM = Path(__file__).parent / "box"
PROGRAM_MOUNTED = "/peck/peckbox"
MOUNTED = "/peck/libraries"
"""Where the box has its profile's libraries."""
_LOCKS = Path(__file__).parent / "profiles"
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
"""Libraries read these at import. A box has one core, whatever the host has."""

Say = Callable[[str], None]


PYTHON_VERSION = "3.11"
"""Python version of the locks and images. Bubblewrap uses the interpreter of the node."""


@dataclass(frozen=True)
class Profile:
    """One profile: its name, purpose, pinned libraries, and what the zygote imports early."""

    name: str
    purpose: str
    imports: tuple[str, ...]
    lock: Path | None
    on_command: bool = False
    """Whether only ``sandbox.launchers.profile_cli build`` builds it."""
    gpu_mb: int = 0
    """GPU memory that each box needs, with the CUDA context. 0 for a profile without a GPU."""
    zygote_mb: int = 0
    """Memory of its imports, on top of the agent's memory."""

    @property
    def gpu(self) -> bool:
        return self.gpu_mb > 0

    @property
    def environment(self) -> Mapping[str, str]:
        """Environment variables for these libraries in the zygote and the agent."""
        return dict.fromkeys(_THREADS, "1")

    @property
    def versions(self) -> Mapping[str, str]:
        """Locked version of each library by name."""
        if self.lock is None:
            return {}
        pins = re.findall(r"^([a-z0-9][a-z0-9.-]*)==(\S+)", self.lock.read_text(), re.MULTILINE)
        return dict(pins)

    @property
    def hashes(self) -> frozenset[str]:
        """Hex SHA-256 of every file that the lock allows."""
        if self.lock is None:
            return frozenset()
        return frozenset(re.findall(r"--hash=sha256:([0-9a-f]{64})", self.lock.read_text()))


_ALWAYS = ("random", "json", "math", "collections", "heapq", "kaggle_environments")
# Do not touch CUDA before the fork, not even to ask whether it exists: a context does not survive a
# fork. The thread pool of a parallel operation does not survive either.
_TORCH = (*_ALWAYS, "numpy.random", "torch")

PROFILES: Mapping[str, Profile] = {
    profile.name: profile
    for profile in (
        Profile("python", "the standard library alone", _ALWAYS, None),
        Profile(
            "numpy", "arrays and linear algebra", (*_ALWAYS, "numpy.random"), _LOCKS / "numpy.lock"
        ),
        # An idle box imports no more than numpy's, so it costs no more. An agent imports the rest
        # while it loads, from the page cache.
        Profile(
            "science",
            "scipy, numba, pandas, scikit-learn, lightgbm, onnxruntime",
            (*_ALWAYS, "numpy.random"),
            _LOCKS / "science.lock",
            on_command=True,
        ),
        Profile(
            "torch",
            "neural networks on the processor",
            _TORCH,
            _LOCKS / "torch.lock",
            on_command=True,
            zygote_mb=192,
        ),
        Profile(
            "torch-gpu",
            "neural networks on a GPU",
            _TORCH,
            _LOCKS / "torch-gpu.lock",
            on_command=True,
            gpu_mb=2000,
            zygote_mb=512,
        ),
    )
}
FIRST = "numpy"
"""The default profile. A node prepares it first and can play from then on."""
BY_ITSELF = tuple(name for name, profile in PROFILES.items() if not profile.on_command)
"""The profiles that every node builds when it starts; the larger one is last."""
ON_COMMAND = tuple(name for name, profile in PROFILES.items() if profile.on_command)


GPU_MB = max(profile.gpu_mb for profile in PROFILES.values())
"""GPU memory for a box of any profile: the most that one needs."""


def get_profile(name: str) -> Profile:
    """Return the profile of this name. Raises HostFault if there is none."""
    try:
        return PROFILES[name]
    except KeyError:
        raise HostFault(f"profile {name!r} is not one of {', '.join(PROFILES)}") from None


def program_files() -> Mapping[str, bytes]:
    """The box's program: the content of each file by its path below ``sandbox/box``."""
    paths = sorted(BOX_PROGRAM.rglob("*.py"))
    return {path.relative_to(BOX_PROGRAM).as_posix(): path.read_bytes() for path in paths}


def compiled_program(state_dir: Path) -> Path:
    """Return a folder with the box's program and its byte code.

    A read-only mount cannot store byte code, so it is compiled once for this interpreter. The
    folder appears whole or not at all.
    """
    digest = hashlib.sha256(sys.version.encode())
    for name, content in program_files().items():
        digest.update(name.encode() + b"\0" + content + b"\0")
    folder = state_dir / "programs" / digest.hexdigest()[:16]
    if folder.is_dir():
        return folder
    with new_folder(folder) as new:
        for name, content in program_files().items():
            path = new / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            # The paths that an agent sees in a traceback.
            shown = f"{PROGRAM_MOUNTED}/{name}"
            compiled = importlib.util.cache_from_source(str(path))
            mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
            py_compile.compile(str(path), compiled, shown, doraise=True, invalidation_mode=mode)
        for path in new.rglob("*"):
            path.chmod(0o755 if path.is_dir() else 0o644)
    return folder


@contextlib.contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Yield an empty folder to fill. It then appears as ``folder``, whole or not at all.

    If another process was as quick, its folder stays. Everybody may list the folder.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    new = Path(tempfile.mkdtemp(prefix=".new-", dir=folder.parent))
    try:
        yield new
        new.chmod(0o755)
        try:
            os.rename(new, folder)
        except OSError:
            if not folder.is_dir():
                raise
    finally:
        shutil.rmtree(new, ignore_errors=True)


def content_digest(profile: Profile, *more: bytes) -> str:
    """Hex digest of all our files that a box of this profile runs."""
    digest = hashlib.sha256()
    for name, content in program_files().items():
        digest.update(name.encode() + b"\0" + content + b"\0")
    digest.update(profile.lock.read_bytes() if profile.lock else b"-")
    for part in more:
        digest.update(b"\0" + part)
    return digest.hexdigest()


def not_built_fault(profile: Profile) -> HostFault:
    """The fault of asking for a profile that was not built here."""
    return HostFault(
        f"profile {profile.name} is not built here; to build it, type:"
        f" python -m sandbox.launchers.profile_cli build --profile {profile.name}"
    )


def cache_dir() -> Path:
    """Folder of the libraries built by command, for all nodes of this user."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pecking-order"


def installed_libraries(profile: Profile, state_dir: Path) -> Path | None:
    """The folder with the profile's libraries for this interpreter, if it exists."""
    if profile.lock is None:
        return None
    homes = [state_dir, cache_dir()] if profile.on_command else [state_dir]
    folders = [_library_folder(profile, home) for home in homes]
    return next((folder for folder in folders if folder.is_dir()), None)


def ensure_libraries(profile: Profile, state_dir: Path, say: Say) -> Path | None:
    """Return the folder with the profile's libraries for this interpreter; None if it has none.

    Installs missing libraries unless the profile is built by command only. Raises HostFault if that
    fails.
    """
    if profile.lock is None:
        return None
    folder = installed_libraries(profile, state_dir)
    if folder is None and profile.on_command:
        raise not_built_fault(profile)
    return folder or install_libraries(profile, state_dir, say)


def install_libraries(
    profile: Profile,
    state_dir: Path,
    say: Say,
    *,
    index_url: str | None = None,
    find_links: Path | None = None,
    is_loud: bool = False,
) -> Path:
    """Install the profile's libraries with pip, whole or not at all; readable by everybody.

    pip also uses the index ``index_url`` and the folder of wheels ``find_links``. The lock's hashes
    decide what is accepted. ``is_loud`` shows pip's progress on stderr. Raises HostFault with pip's
    last lines.
    """
    folder = _library_folder(profile, state_dir)
    say(f"installing the libraries of profile {profile.name} (once)")
    with new_folder(folder) as new:
        command = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-compile"]
        command += ["--progress-bar", "off"] if is_loud else ["--quiet"]
        command += ["--require-hashes", "--only-binary", ":all:", "--no-warn-script-location"]
        command += ["--disable-pip-version-check", "--root-user-action", "ignore"]
        command += ["--extra-index-url", index_url] if index_url else []
        command += ["--find-links", str(find_links)] if find_links else []
        command += ["--target", str(new), "-r", str(profile.lock)]
        done = subprocess.run(
            command,
            stdout=sys.stderr if is_loud else subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            umask=0o022,
        )
        if done.returncode != 0:
            lines = " ".join(done.stderr.strip().splitlines()[-3:])
            raise HostFault(f"the libraries of profile {profile.name} cannot be had: {lines}")
        shutil.rmtree(new / "bin", ignore_errors=True)
        # Use the names that tracebacks in a box show. Skip source checks, because mounted files
        # cannot change. Samples and templates that are no valid source stay as they are.
        command = [sys.executable, "-m", "compileall", "-q", "-q", "-s", str(new), "-p", MOUNTED]
        command += ["--invalidation-mode", "unchecked-hash", str(new)]
        subprocess.run(command, capture_output=True, check=False, umask=0o022)
    return folder


def _library_folder(profile: Profile, home: Path) -> Path:
    """The folder's name has the lock's digest and the interpreter that can load the files."""
    assert profile.lock is not None
    tag = f"{sysconfig.get_python_version()}-{sysconfig.get_platform()}"
    digest = hashlib.sha256(profile.lock.read_bytes() + tag.encode()).hexdigest()[:16]
    return home / "profiles" / f"{profile.name}-{digest}"
