"""The memory of GPUs, and the share of it that each seat of a match gets.

CUDA does not isolate the memory of programs on one device. Torch gets a limit that an agent could
lift. It is CONTEXT_MB below the share, because it does not count the memory of CUDA itself.
``sandbox.node.gpu_memory`` ends agents that are over their share. ``nvidia-smi`` prints the memory
of a device, but not of a slice.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import replace

from sandbox.launchers.gpu import Gpu

CONTEXT_MB = 600
"""What CUDA itself uses of the share of a process. An estimate, not measured."""
_READ_SECONDS = 10.0


def with_memory(gpus: Sequence[Gpu]) -> tuple[Gpu, ...]:
    """The GPUs with their memory, as far as ``nvidia-smi`` tells it."""
    memory_mb = read_memory() if gpus else {}
    return tuple(replace(gpu, memory_mb=memory_mb.get(gpu.device, 0)) for gpu in gpus)


def memory_lacks(gpus: Iterable[Gpu], need_mb: int) -> tuple[str, ...]:
    """Why boxes cannot use a GPU or share its memory fairly, one sentence each."""
    return tuple(
        f"{gpu.name} has {gpu.memory_mb} MB of memory, and a box needs {need_mb} MB"
        if gpu.memory_mb
        else f"nvidia-smi does not tell the memory of {gpu.name}, so an agent can use the memory of"
        " the other seats of its match"
        for gpu in gpus
        if gpu.memory_mb < need_mb
    )


def share_environment(gpu: Gpu) -> dict[str, str]:
    """Variables by which torch limits itself to the share of the memory."""
    if not gpu.is_shared or not gpu.memory_mb:
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
    memory_mb = {}
    for number, uuid, memory in _fields(lines, 3):
        if memory.isdigit():
            memory_mb[number] = memory_mb[uuid] = int(memory)
    return memory_mb


def parse_use(lines: str) -> dict[int, int | None]:
    """Parse lines ``4711, 512``. A process has one line for each device that it uses."""
    used_mb: dict[int, int | None] = {}
    for pid, used in _fields(lines, 2):
        if pid.isdigit():
            before = used_mb.get(int(pid), 0)
            unknown = before is None or not used.isdigit()
            used_mb[int(pid)] = None if unknown else (before or 0) + int(used)
    return used_mb


def _fields(lines: str, count: int) -> list[list[str]]:
    rows = [[field.strip() for field in line.split(",")] for line in lines.splitlines()]
    return [row for row in rows if len(row) == count]


def _query(query: str) -> str:
    program = shutil.which("nvidia-smi")
    if program is None:
        return ""
    command = [program, query, "--format=csv,noheader,nounits"]
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
