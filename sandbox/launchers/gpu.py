"""Finds this machine's GPUs in CDI files or through the engine.

A match gets one GPU or slice (MIG), which its seats share. The vendor's CDI file
lists what a box needs: device nodes and driver libraries.
``nvidia-ctk cdi generate --format=json --output=/etc/cdi/nvidia.json`` writes it. Only JSON is
read; ``gpu_lacks`` reports YAML files. Never tested on a real GPU. Source: the Container Device
Interface specification.

CUDA does not isolate the memory of programs on one device. Torch gets a limit that an agent could
lift. It is CONTEXT_MB below the share, because it does not count the memory of CUDA itself.
``sandbox.node.box_pool`` ends agents that are over their share. ``nvidia-smi`` prints the memory
of a device, but not of a slice.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sandbox.errors import HostFault

SPEC_FOLDERS = (Path("/etc/cdi"), Path("/var/run/cdi"))
ADVICE = (
    "write the GPUs' CDI file as JSON:"
    " nvidia-ctk cdi generate --format=json --output=/etc/cdi/nvidia.json"
)
_EVERYTHING = "all"
"""The CDI device that means all GPUs at once. No box gets it."""


@dataclass(frozen=True)
class Gpu:
    """A whole GPU or a slice of one, as a CDI file describes it, or one seat's share of either.

    ``nodes`` are (host, box) paths of device nodes, ``libraries`` those of driver libraries.
    """

    name: str
    """Qualified name: ``nvidia.com/gpu=0``."""
    nodes: tuple[tuple[str, str], ...] = ()
    libraries: tuple[tuple[str, str], ...] = ()
    memory_share: float = 1.0
    """Part of the device's memory that one box may use. Below 1 if seats share the device."""
    memory_mb: int = 0
    """Memory in MB that one box may use. 0 if ``nvidia-smi`` does not tell it."""

    @property
    def device(self) -> str:
        """Its number or UUID: ``0`` of ``nvidia.com/gpu=0``."""
        return self.name.partition("=")[2]

    @property
    def is_shared(self) -> bool:
        """Whether other seats of the match use the device too."""
        return self.memory_share < 1

    def shared_by(self, seats: int) -> Gpu:
        """The share that each of so many seats of a match gets."""
        return replace(self, memory_share=1 / seats, memory_mb=self.memory_mb // seats)

    def bubblewrap_options(self) -> list[str]:
        """Mounts for a box that has no driver libraries of its own."""
        options = []
        for source, target in self.nodes:
            options += ["--dev-bind", source, target]
        for source, target in self.libraries:
            options += ["--ro-bind", source, target]
        for name, link in self._links():
            options += ["--symlink", name, link]
        return options

    def library_folders(self) -> tuple[str, ...]:
        """Folders of the libraries, which the box's loader does not search by default."""
        return tuple(dict.fromkeys(os.path.dirname(target) for _, target in self.libraries))

    def _links(self) -> Iterator[tuple[str, str]]:
        """(target, path) of the names by which programs load the libraries, as on the host.

        A CDI file leaves these links to the engine.
        """
        targets = {target for _, target in self.libraries}
        for source, target in self.libraries:
            folder, name = os.path.split(target)
            stem = os.path.basename(source).partition(".so")[0]
            for link in sorted(Path(source).parent.glob(f"{stem}.so*")):
                path = f"{folder}/{link.name}"
                is_ours = os.path.realpath(link) == os.path.realpath(source)
                if path not in targets and link.is_symlink() and is_ours:
                    yield name, path

    def docker_request(self, info: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of ``docker.types.DeviceRequest`` for this GPU alone."""
        if _engine_supports_cdi(info):
            return {"driver": "cdi", "device_ids": [self.name]}
        return {"driver": "nvidia", "device_ids": [self.device], "capabilities": [["gpu"]]}


def find_gpus(folders: Iterable[Path] = SPEC_FOLDERS) -> tuple[Gpu, ...]:
    """Every GPU of the CDI files, once each. HostFault names a file that cannot be read."""
    gpus: dict[frozenset[str], Gpu] = {}
    for path in _cdi_files(folders, ".json"):
        for gpu in _read_cdi_file(path):
            # The same GPU has a name by number and one by UUID. A slice shares its parent's nodes
            # and has some of its own.
            gpus.setdefault(frozenset(source for source, _ in gpu.nodes), gpu)
    return tuple(gpus.values())


def gpus_of_engine(
    info: Mapping[str, Any], folders: Iterable[Path] = SPEC_FOLDERS, dev: Path = Path("/dev")
) -> tuple[Gpu, ...]:
    """The GPUs that a Docker engine of this machine can give to a container, by its ``info``."""
    if _engine_supports_cdi(info):
        ids = [str(name.get("ID")) for name in info.get("DiscoveredDevices") or ()]
        named = [name for name in ids if "/gpu=" in name and not name.endswith(f"={_EVERYTHING}")]
        # Prefer names by number: the list has each GPU by its UUID too.
        numbered = [name for name in named if name.partition("=")[2].replace(":", "").isdigit()]
        return find_gpus(folders) or tuple(Gpu(name) for name in numbered or named)
    if "nvidia" in (info.get("Runtimes") or {}):
        numbers = sorted(int(path.name[6:]) for path in dev.glob("nvidia[0-9]*"))
        return tuple(Gpu(f"nvidia.com/gpu={number}") for number in numbers)
    return ()


def gpu_lacks(folders: Iterable[Path] = SPEC_FOLDERS, dev: Path = Path("/dev")) -> tuple[str, ...]:
    """Why a machine's GPU cannot be given to a box. Empty if there is no GPU."""
    folders = tuple(folders)
    if not any(dev.glob("nvidia[0-9]*")) or any(_cdi_files(folders, ".json")):
        return ()
    if any(_cdi_files(folders, ".yaml")) or any(_cdi_files(folders, ".yml")):
        return (f"the CDI file of this machine's GPU is YAML, but only JSON is read; {ADVICE}",)
    return (f"this machine has a GPU but no CDI file that describes it; {ADVICE}",)


def no_gpu_fault(profile: str) -> HostFault:
    """The fault of asking for a GPU profile on a node without one."""
    return HostFault(f"profile {profile} needs a GPU and none was found; if there is one, {ADVICE}")


def _cdi_files(folders: Iterable[Path], suffix: str) -> list[Path]:
    """CDI files, later folders first: the specification gives them priority."""
    folders = tuple(folders)
    return [path for folder in reversed(folders) for path in sorted(folder.glob(f"*{suffix}"))]


def _read_cdi_file(path: Path) -> list[Gpu]:
    try:
        spec = json.loads(path.read_text())
        kind = str(spec["kind"])
        if not kind.endswith("/gpu"):
            return []
        shared = spec.get("containerEdits") or {}
        return [
            _gpu_from_cdi(f"{kind}={device['name']}", shared, device.get("containerEdits") or {})
            for device in spec["devices"]
            if device["name"] != _EVERYTHING
        ]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise HostFault(f"the CDI file {path} cannot be read: {error!r}") from None


def _gpu_from_cdi(name: str, shared: Mapping[str, Any], own: Mapping[str, Any]) -> Gpu:
    nodes, libraries = {}, {}
    for edits in (shared, own):
        for node in edits.get("deviceNodes") or ():
            nodes[str(node["path"])] = str(node.get("hostPath") or node["path"])
        for mount in edits.get("mounts") or ():
            # Leave out programs, sockets and firmware: an agent needs only the libraries.
            if ".so" in os.path.basename(mount["hostPath"]):
                libraries[str(mount["containerPath"])] = str(mount["hostPath"])
    return Gpu(
        name,
        tuple((source, target) for target, source in nodes.items()),
        tuple((source, target) for target, source in libraries.items()),
    )


def _engine_supports_cdi(info: Mapping[str, Any]) -> bool:
    return bool(info.get("CDISpecDirs"))


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
