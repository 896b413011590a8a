"""GPUs of this machine: found in CDI files or through the engine, one whole GPU or slice to a box.

Nothing is guessed: what a box needs of a GPU stands in the vendor's CDI file (device nodes, driver
libraries), written by ``nvidia-ctk cdi generate --format=json --output=/etc/cdi/nvidia.json``. Only
JSON is read; of a YAML file ``gpu_lacks`` says so. Never checked on a real GPU. Source: the
Container Device Interface specification.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandbox.errors import HostFault

SPEC_FOLDERS = (Path("/etc/cdi"), Path("/var/run/cdi"))
ADVICE = (
    "write the GPUs' CDI file as JSON:"
    " nvidia-ctk cdi generate --format=json --output=/etc/cdi/nvidia.json"
)
_EVERYTHING = "all"
"""The CDI device that stands for all GPUs at once: nobody's seat."""


@dataclass(frozen=True)
class Gpu:
    """A whole GPU or a slice of one, as a CDI file describes it.

    ``nodes`` are (host, box) paths of device nodes, ``libraries`` those of driver libraries.
    """

    name: str
    """Qualified: ``nvidia.com/gpu=0``."""
    nodes: tuple[tuple[str, str], ...] = ()
    libraries: tuple[tuple[str, str], ...] = ()

    def bubblewrap_options(self) -> list[str]:
        """Mounts for a box that has no library of the driver's by itself."""
        options = []
        for source, target in self.nodes:
            options += ["--dev-bind", source, target]
        for source, target in self.libraries:
            options += ["--ro-bind", source, target]
        for name, link in self._links():
            options += ["--symlink", name, link]
        return options

    def library_folders(self) -> tuple[str, ...]:
        """Where the libraries lie, in which the box's loader would not look by itself."""
        return tuple(dict.fromkeys(os.path.dirname(target) for _, target in self.libraries))

    def _links(self) -> Iterator[tuple[str, str]]:
        """(target, path) of the names by which programs load the libraries, as the host has them
        beside each: a CDI file leaves these to the engine."""
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
        """For this GPU alone, in the words of ``docker.types.DeviceRequest``."""
        if _engine_supports_cdi(info):
            return {"driver": "cdi", "device_ids": [self.name]}
        device = self.name.partition("=")[2]
        return {"driver": "nvidia", "device_ids": [device], "capabilities": [["gpu"]]}


class GpuPool:
    """Who has which GPU: a box takes one for its life. Safe to call from several threads."""

    def __init__(self, gpus: Sequence[Gpu]) -> None:
        self._lock = threading.Lock()
        self._free = list(gpus)
        self._known = frozenset(gpus)

    def __len__(self) -> int:
        return len(self._known)

    @property
    def free(self) -> int:
        """How many nobody has at this moment."""
        with self._lock:
            return len(self._free)

    def take(self) -> Gpu | None:
        """One that nobody has; None when all are taken."""
        with self._lock:
            return self._free.pop(0) if self._free else None

    def give_back(self, gpu: Gpu) -> None:
        """After its box is gone, so that nothing of it is left on the device. Safe to repeat."""
        with self._lock:
            if gpu in self._known and gpu not in self._free:
                self._free.append(gpu)


def find_gpus(folders: Iterable[Path] = SPEC_FOLDERS) -> tuple[Gpu, ...]:
    """Every GPU that the CDI files name, once each. HostFault names a file that cannot be read."""
    found: dict[frozenset[str], Gpu] = {}
    for path in _cdi_files(folders, ".json"):
        for one in _read_cdi_file(path):
            # The same GPU has a name by number and one by UUID; a slice shares its parent's nodes
            # and has some of its own.
            found.setdefault(frozenset(source for source, _ in one.nodes), one)
    return tuple(found.values())


def gpus_of_engine(
    info: Mapping[str, Any], folders: Iterable[Path] = SPEC_FOLDERS, dev: Path = Path("/dev")
) -> tuple[Gpu, ...]:
    """The GPUs that a Docker engine of this machine can give to a container, by its ``info``."""
    if _engine_supports_cdi(info):
        ids = [str(one.get("ID")) for one in info.get("DiscoveredDevices") or ()]
        named = [one for one in ids if "/gpu=" in one and not one.endswith(f"={_EVERYTHING}")]
        # By number where there are numbers: the list has each GPU by its UUID too.
        numbered = [one for one in named if one.partition("=")[2].replace(":", "").isdigit()]
        return find_gpus(folders) or tuple(Gpu(one) for one in numbered or named)
    if "nvidia" in (info.get("Runtimes") or {}):
        numbers = sorted(int(path.name[6:]) for path in dev.glob("nvidia[0-9]*"))
        return tuple(Gpu(f"nvidia.com/gpu={number}") for number in numbers)
    return ()


def gpu_lacks(folders: Iterable[Path] = SPEC_FOLDERS, dev: Path = Path("/dev")) -> tuple[str, ...]:
    """Why a machine that has a GPU cannot give it to a box; nothing where there is none to give."""
    folders = tuple(folders)
    if not any(dev.glob("nvidia[0-9]*")) or any(_cdi_files(folders, ".json")):
        return ()
    if any(_cdi_files(folders, ".yaml")) or any(_cdi_files(folders, ".yml")):
        return (f"there is a GPU and its CDI file is YAML, which is not read here; {ADVICE}",)
    return (f"there is a GPU and no CDI file says what a box needs of it; {ADVICE}",)


def no_gpu_fault(profile: str) -> HostFault:
    """The fault of asking for a GPU profile on a node without one."""
    return HostFault(f"profile {profile} needs a GPU and none was found; if there is one, {ADVICE}")


def _cdi_files(folders: Iterable[Path], suffix: str) -> list[Path]:
    """Files of the later folders come first: the specification lets them win."""
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
            # Programs, sockets and firmware stay outside: an agent needs the libraries alone.
            if ".so" in os.path.basename(mount["hostPath"]):
                libraries[str(mount["containerPath"])] = str(mount["hostPath"])
    return Gpu(
        name,
        tuple((source, target) for target, source in nodes.items()),
        tuple((source, target) for target, source in libraries.items()),
    )


def _engine_supports_cdi(info: Mapping[str, Any]) -> bool:
    return bool(info.get("CDISpecDirs"))
