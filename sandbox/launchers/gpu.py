"""Finds this machine's GPUs in CDI files or through the engine.

A match gets one GPU or slice (MIG), which its seats share (``gpu_shares``). The vendor's CDI file
lists what a box needs: device nodes and driver libraries.
``nvidia-ctk cdi generate --format=json --output=/etc/cdi/nvidia.json`` writes it. Only JSON is
read; ``gpu_lacks`` reports YAML files. Never tested on a real GPU. Source: the Container Device
Interface specification.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
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
