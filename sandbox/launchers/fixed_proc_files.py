"""Fixed files that replace host-wide counters in a box.

Two seats could signal through a counter that one box changes and another reads. Each counter also
reveals something about the host. In ``/proc`` a box sees its own processes and the files named
here. In ``/sys`` it sees which processors exist.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

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
    home.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=".new-", dir=home.parent))
    try:
        for name, text in contents.items():
            file = made / name.lstrip("/")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        for path in (made, *made.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
        os.rename(made, home)
    except OSError:
        if not home.is_dir():  # another node was as quick
            raise
    finally:
        shutil.rmtree(made, ignore_errors=True)
