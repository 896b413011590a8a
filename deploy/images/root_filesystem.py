"""Builds the root folder of a sandbox image: an interpreter and a profile's libraries, nothing
else.

``python3 root_filesystem.py --out ROOT --libraries DIR --box DIR``

Runs in the first stage of box.Dockerfile with the base image's interpreter. On a machine without a
registry it uses the machine's own (sandbox/launchers/docker_images.py). It copies only the files
named below, so the root has no compiler, package manager or set-uid file. It compiles all modules,
because the root is read-only later.
"""

from __future__ import annotations

import argparse
import compileall
import os
import py_compile
import re
import shutil
import stat
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

HOME = "peck/python"
"""Folder of the interpreter in the root, on every system."""
NOT_COPIED = (
    *("test", "tests", "idlelib", "idle_test", "turtledemo", "lib2to3", "ensurepip", "tkinter"),
    *("site-packages", "dist-packages", "__pycache__", "config-*", "_tkinter*", "*.a"),
)
EMPTY = (
    *("proc", "sys", "dev", "etc", "tmp", "run/peck", "kaggle_simulations/agent", "peck/libraries"),
    "peck/own",
)
USUAL = (
    *("libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libutil.so.1"),
    *("libresolv.so.2", "libgcc_s.so.1", "libstdc++.so.6", "libgomp.so.1", "libmvec.so.1"),
    "libnss_files.so.2",
)
"""System libraries that an agent's native code may use, if the system has them."""
GROUPS = "root:x:0:\nnogroup:x:65534:\n"
USERS = "/peck/own/passwd"
"""File in which the sandbox names its user: each match has another uid."""
SHELL = Path("/bin/sh")
"""Nobody can log in with it. Programs call it, and it gives no more rights."""


def main() -> None:
    """Fills an empty folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--libraries", type=Path, help="omit it for a profile without libraries")
    parser.add_argument("--box", type=Path, required=True, help="the supervisor's program")
    options = parser.parse_args()
    out: Path = options.out
    for name in EMPTY:
        (out / name).mkdir(parents=True, exist_ok=True)
    (out / "etc/group").write_text(GROUPS)
    (out / "etc/passwd").symlink_to(USERS)
    executable = Path(os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable))
    stdlib = Path(sysconfig.get_path("stdlib"))
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    _copy_file(executable, out / HOME / "bin" / "python3")
    target = out / HOME / "lib" / version
    ignored = shutil.ignore_patterns(*NOT_COPIED)
    shutil.copytree(stdlib, target, ignore=ignored, ignore_dangling_symlinks=True)
    shutil.copytree(options.box, out / "peck/peckbox", ignore=shutil.ignore_patterns("__pycache__"))
    if options.libraries is not None and options.libraries.is_dir():
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(
            options.libraries, out / "peck/libraries", ignore=ignored, dirs_exist_ok=True
        )
        shutil.rmtree(out / "peck/libraries/bin", ignore_errors=True)
    _copy_system_libraries(executable, out)
    for folder in (out / HOME / "lib", out / "peck/libraries", out / "peck/peckbox"):
        # No checks at run time: the root cannot change, and reading the date of each source makes
        # imports slow on a cold disk.
        compileall.compile_dir(
            folder,
            quiet=2,
            force=True,
            maxlevels=40,
            stripdir=str(out),
            prependdir="/",
            invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
        )
    _reset_permissions(out)


def _copy_system_libraries(executable: Path, out: Path) -> None:
    """Copies the dynamic loader, and the libraries of the interpreter, its modules and the
    packages."""
    found = re.search(rb"/lib[\w/.-]*/ld-linux[\w.-]*\.so\.\d", executable.read_bytes())
    if found is None:
        raise SystemExit(f"take another base image: {executable} is not linked with glibc")
    loader = found[0].decode()
    needed = _linked(loader, [executable])
    (out / "usr/bin").mkdir(parents=True)
    (out / "bin").symlink_to("usr/bin")
    if SHELL.exists():
        _copy_file(SHELL.resolve(), out / "usr/bin/sh")
        needed |= _linked(loader, [SHELL.resolve()])
    home = Path(os.path.realpath(needed["libc.so.6"])).parent
    modules = [
        path
        for folder in (out / HOME, out / "peck/libraries")
        for path in _find_shared_libraries(folder)
    ]
    usual = [home / name for name in USUAL if (home / name).exists()]
    needed |= _linked(loader, [*modules, *usual]) | {path.name: str(path) for path in usual}
    for name, source in needed.items():
        if Path(source).is_relative_to(out):
            continue  # part of a package, which finds it by itself
        # One folder that the loader searches anyway, so no cache file is needed.
        _copy_file(Path(source), out / _below_usr(home) / name)
    for top in ("lib", "lib64"):
        (out / "usr" / top).mkdir(parents=True, exist_ok=True)
        (out / top).symlink_to(f"usr/{top}")
    _copy_file(Path(os.path.realpath(loader)), out / f"usr{loader}")


def _below_usr(folder: Path) -> str:
    """The place of a library folder in the root, where /lib links to /usr/lib."""
    path = str(folder).lstrip("/")
    return path if path.startswith("usr/") else f"usr/{path}"


def _find_shared_libraries(folder: Path) -> Iterable[Path]:
    return (path for path in folder.rglob("*.so*") if path.is_file() and not path.is_symlink())


def _linked(loader: str, paths: Iterable[Path]) -> dict[str, str]:
    """Path by name of every shared library that these files load. Skips missing libraries, because
    drivers come with the device."""
    found: dict[str, str] = {}
    for path in paths:
        told = subprocess.run([loader, "--list", path], capture_output=True, text=True, check=False)
        for name, where in re.findall(r"^\s*(\S+) => (/\S+)", told.stdout, re.MULTILINE):
            found.setdefault(Path(name).name, where)
    return found


def _copy_file(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    target.chmod(0o755)


def _reset_permissions(out: Path) -> None:
    """Gives all files to root: readable for all, writable for root, without set-uid bits."""
    for path in (out, *out.rglob("*")):
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            continue
        if not (stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
            raise SystemExit(f"remove {path}: it is neither a file nor a folder")
        runs = stat.S_ISDIR(mode) or mode & stat.S_IXUSR
        path.chmod(0o755 if runs else 0o644)
    (out / "tmp").chmod(0o1777)


if __name__ == "__main__":
    main()
