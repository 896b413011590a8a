"""Prepares files of this machine that boxes see: shared libraries, and fixed files of the kernel.

A bubblewrap box needs the libraries that the interpreter and its standard library load, and those
that wheels and compiled programs expect of any machine. An agent sees nothing else of ``/usr/lib``.
Boxes use copies so that they share no memory pages with the host's programs.

Fixed files replace host-wide counters in a box. Two seats could signal through a counter that one
box changes and another reads. Each counter also reveals something about the host. In ``/proc`` a
box sees its own processes and the files named here. In ``/sys`` it sees which processors exist.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from sandbox.errors import HostFault
from sandbox.profiles import new_folder

MOUNTED = "/peck/system"
"""The folder of the copies in a box; the usual paths are links to them."""
SHELL = "/bin/sh"
_EXPECTED = (
    *("libanl.so.1", "libatomic.so.1", "libcrypt.so.1", "libdl.so.2", "libexpat.so.1"),
    *("libgcc_s.so.1", "libgfortran.so.5", "libgomp.so.1", "libm.so.6", "libmvec.so.1"),
    *("libnsl.so.1", "libnss_files.so.2", "libpthread.so.0", "libquadmath.so.0"),
    *("libresolv.so.2", "librt.so.1", "libstdc++.so.6", "libutil.so.1", "libz.so.1"),
)
"""What wheels (the manylinux policy) and compiled programs load, where this machine has it."""
_LOCALE = "/usr/lib/locale/C.utf8"
_FOUND = re.compile(r"^\t(?:(\S+) => )?(/\S+) \(0x[0-9a-f]+\)$", re.MULTILINE)
_LIBC = re.compile(r"libc\.so\.\d+")


def copy_libraries(state_dir: Path, program: str, stdlib: str) -> Path:
    """Return the folder with the copies, each at its path below it. Makes it if it is missing.

    Raises HostFault if the libraries cannot be found.
    """
    home = state_dir / "systems" / _cache_key(program, stdlib)
    if home.is_dir():
        return home
    with new_folder(home) as folder:
        for target, source in _library_sources(program, stdlib).items():
            file = folder / target.lstrip("/")
            file.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, file)
        if os.path.isdir(_LOCALE):
            shutil.copytree(_LOCALE, folder / _LOCALE.lstrip("/"))
        for path in folder.rglob("*"):
            path.chmod(0o755)
    return home


def library_links(home: Path) -> Iterator[tuple[str, str]]:
    """(target, path) of each link that gives the copies their usual paths in a box."""
    for path in sorted(home.rglob("*")):
        if path.is_file():
            name = path.relative_to(home)
            yield f"{MOUNTED}/{name}", f"/{name}"


def link_folders(home: Path) -> list[str]:
    """The folders that hold these links, outer folders first."""
    inside = sorted(path.relative_to(home) for path in home.rglob("*") if path.is_dir())
    return [f"/{name}" for name in inside]


def _cache_key(program: str, stdlib: str) -> str:
    """A name that changes with the interpreter, its modules and the machine's libraries."""
    digest = hashlib.sha256(repr((sys.version, _EXPECTED, program)).encode())
    for path in (program, f"{stdlib}/lib-dynload", SHELL, "/etc/ld.so.cache"):
        with contextlib.suppress(OSError):
            status = os.stat(path)
            digest.update(repr((path, status.st_size, status.st_mtime_ns)).encode())
    return digest.hexdigest()[:16]


def _library_sources(program: str, stdlib: str) -> Mapping[str, str]:
    """Sources by target. All targets are in the C library's folder, which every loader searches."""
    libraries = dict(_needed_libraries(program, f"{stdlib}/lib-dynload"))
    if os.path.exists(SHELL):
        libraries = {**dict(_needed_libraries(SHELL, os.devnull)), **libraries}
    libc = next((path for name, path in libraries.items() if _LIBC.fullmatch(name)), None)
    if libc is None:
        raise HostFault(
            f"the loader finds no C library for {program}; run the node with an interpreter that "
            "is linked dynamically against glibc"
        )
    folder = os.path.dirname(libc)
    for name in _EXPECTED:
        if os.path.exists(f"{folder}/{name}"):
            libraries.setdefault(name, f"{folder}/{name}")
    inside = os.path.realpath(folder)
    # This includes the interpreter's own shared library, which no searched folder holds.
    targets = {f"{inside}/{name}": path for name, path in libraries.items() if "/" not in name}
    for name, path in libraries.items():
        if "/" in name:  # the loader, which programs name by its path
            targets[f"{os.path.realpath(os.path.dirname(name))}/{os.path.basename(name)}"] = path
    return targets


def _needed_libraries(program: str, folder: str) -> Iterator[tuple[str, str]]:
    """Name and path of all that the loader loads for a program and for the modules in a folder.

    Does what the command ldd does, for all of them in one process. A box has no screen, so this
    leaves out Tk's module and the dozens of libraries that it loads.
    """
    names = sorted(path.name for path in Path(folder).glob("*.so"))
    modules = " ".join(f"./{name}" for name in names if not name.startswith("_tkinter"))
    traced = subprocess.run(
        [program, "-c", ""],
        env={"LD_TRACE_LOADED_OBJECTS": "1", "LD_PRELOAD": modules},
        cwd=folder if modules else None,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    for name, path in _FOUND.findall(traced.stdout):
        yield name or path, path


_SHOWN = (
    *("cpuinfo", "filesystems", "loadavg", "meminfo", "mounts", "net", "self", "stat", "swaps"),
    *("thread-self", "uptime", "version"),
)
"""Names below /proc that every box sees: links into its own processes, files that never change,
and the fixed files below.
"""
_NO_SWAPS = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"
_CPU = "/sys/devices/system/cpu"
DEVICES = "/sys/devices"
"""Replaced as a whole."""


def masked_paths() -> list[str]:
    """Every path below /proc of this kernel that no box may see."""
    names = sorted(name for name in os.listdir("/proc") if not name.isdigit())
    return [f"/proc/{name}" for name in names if name not in _SHOWN]


def write_files(folder: Path, memory_mb: int) -> Mapping[str, Path]:
    """Write the missing fixed files and folders. Returns them by their paths in a box of this
    memory.
    """
    contents = _file_contents(memory_mb)
    digest = hashlib.sha256(repr(sorted(contents.items())).encode()).hexdigest()[:16]
    home = folder / f"facts-{digest}"
    if not home.is_dir():
        _write_files(home, contents)
    shown = [path for path in contents if path.startswith("/proc/")]
    return {path: home / path.lstrip("/") for path in (*shown, DEVICES)}


@functools.cache
def _file_contents(memory_mb: int) -> Mapping[str, str]:
    count = os.cpu_count() or 1
    processors = "0" if count == 1 else f"0-{count - 1}"
    return {
        "/proc/cpuinfo": re.sub(r"(?m)^(cpu MHz\s*: ).*$", r"\g<1>1000.000", _read_proc("cpuinfo")),
        "/proc/loadavg": "0.00 0.00 0.00 1/1 1\n",
        "/proc/meminfo": _meminfo_text(memory_mb << 10),
        "/proc/stat": _stat_text(count),
        "/proc/swaps": _NO_SWAPS,
        "/proc/uptime": "0.00 0.00\n",
        f"{_CPU}/kernel_max": f"{count - 1}\n",
        **{f"{_CPU}/{name}": f"{processors}\n" for name in ("online", "possible", "present")},
    }


def _meminfo_text(kilobytes: int) -> str:
    all_of_it = ("MemTotal", "MemFree", "MemAvailable")
    none = (
        *("Buffers", "Cached", "SwapCached", "Active", "Inactive", "SwapTotal", "SwapFree"),
        *("Dirty", "Writeback", "AnonPages", "Mapped", "Shmem", "Slab", "SReclaimable"),
    )
    values = {**dict.fromkeys(all_of_it, kilobytes), **dict.fromkeys(none, 0)}
    return "".join(f"{name + ':':<16}{value:>8} kB\n" for name, value in values.items())


def _stat_text(count: int) -> str:
    times = " 0" * 10
    lines = [f"cpu {times}", *(f"cpu{number}{times}" for number in range(count))]
    lines += ["intr 0", "ctxt 0", "btime 0", "processes 1", "procs_running 1", "procs_blocked 0"]
    return "\n".join([*lines, f"softirq{times} 0", ""])


def _read_proc(name: str) -> str:
    return Path("/proc", name).read_text()


def _write_files(home: Path, contents: Mapping[str, str]) -> None:
    """Write all files or none, readable by everybody."""
    with new_folder(home) as folder:
        for name, text in contents.items():
            file = folder / name.lstrip("/")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        for path in folder.rglob("*"):
            path.chmod(0o755 if path.is_dir() else 0o644)
