"""Divides GPUs into shares, so that several boxes use one device.

An operator chooses it (``--gpu-shares``), because CUDA does not isolate the memory of programs on
one device. Torch gets a limit that an agent could lift. It is CONTEXT_MB below the share, because
it does not count the memory of CUDA itself. ``sandbox.node.gpu_memory`` ends agents that are over
their share. ``nvidia-smi`` prints the memory of a device. A device of unknown
memory, such as a slice, is not shared.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import replace

from sandbox.launchers.gpu import Gpu

MOST = 16
"""Most shares of one device."""
CONTEXT_MB = 600
"""What CUDA itself uses of the share of a process. An estimate, not measured."""
_READ_SECONDS = 10.0


def divide_gpus(
    gpus: Iterable[Gpu], memory_mb: Mapping[str, int], shares: int, need_mb: int
) -> tuple[Gpu, ...]:
    """Returns at most ``shares`` shares of each GPU, and no more than its memory allows.

    ``memory_mb`` is by number or UUID. A share has ``need_mb`` at least.
    """
    found: list[Gpu] = []
    for gpu in gpus:
        memory = memory_mb.get(gpu.device)
        count = 1 if memory is None else min(shares, memory // need_mb)
        if memory is not None and count > 1:
            part = replace(gpu, memory_share=1 / count, memory_mb=memory // count)
            found += [replace(part, share=number) for number in range(count)]
        elif count:
            found.append(gpu)
    return tuple(found)


def share_lacks(
    gpus: Iterable[Gpu], memory_mb: Mapping[str, int], shares: int, need_mb: int
) -> tuple[str, ...]:
    """Why GPUs have fewer shares than ``shares``, one sentence each."""
    told = []
    for gpu in gpus:
        memory = memory_mb.get(gpu.device)
        if memory is None and shares > 1:
            told.append(f"{gpu.name} is not shared: nvidia-smi does not tell its memory")
        elif memory is not None and memory < shares * need_mb:
            told.append(
                f"{gpu.name} has {memory} MB of memory, and a box needs {need_mb} MB:"
                f" {memory // need_mb} of {shares} boxes can use it"
            )
    return tuple(told)


def share_environment(gpu: Gpu) -> dict[str, str]:
    """Variables by which torch limits itself to the share of the memory."""
    if not gpu.is_shared:
        return {}
    fraction = gpu.memory_share * (gpu.memory_mb - CONTEXT_MB) / gpu.memory_mb
    return {"PYTORCH_ALLOC_CONF": f"per_process_memory_fraction:{fraction:.4f}"}


def read_memory() -> dict[str, int]:
    """Memory in MB of each whole GPU, by its number and its UUID. Empty without ``nvidia-smi``."""
    return parse_memory(_query("--query-gpu=index,uuid,memory.total"))


def read_use() -> dict[int, int | None]:
    """GPU memory in MB that each process uses, by pid. Empty without ``nvidia-smi``.

    None: ``nvidia-smi`` does not tell the memory of this process.
    """
    return parse_use(_query("--query-compute-apps=pid,used_memory"))


def parse_memory(lines: str) -> dict[str, int]:
    """Parse lines ``0, GPU-5d5b..., 8188``. Skips a device whose memory is not a number."""
    found = {}
    for number, uuid, memory in _fields(lines, 3):
        if memory.isdigit():
            found[number] = found[uuid] = int(memory)
    return found


def parse_use(lines: str) -> dict[int, int | None]:
    """Parse lines ``4711, 512``. A process has one line for each device that it uses."""
    found: dict[int, int | None] = {}
    for pid, used in _fields(lines, 2):
        if pid.isdigit():
            before = found.get(int(pid), 0)
            unknown = before is None or not used.isdigit()
            found[int(pid)] = None if unknown else (before or 0) + int(used)
    return found


def _fields(lines: str, count: int) -> list[list[str]]:
    rows = [[field.strip() for field in line.split(",")] for line in lines.splitlines()]
    return [row for row in rows if len(row) == count]


def _query(what: str) -> str:
    program = shutil.which("nvidia-smi")
    if program is None:
        return ""
    command = [program, what, "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=_READ_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""
