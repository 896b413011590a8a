"""Starts boxes with a Docker engine.

Each container is one box. It has no network, a read-only root, no shared memory and no new
privileges. Only the supervisor has capabilities: five. Processes, memory (no swap), CPU and scratch
have limits.

The engine keeps no log. The agent's output never reaches the engine, where a flood would use the
host's CPU outside every limit. The box calls the node once through a socket in a mounted folder.
The listener is closed before any agent enters.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docker
import docker.errors
from docker.types import DeviceRequest, LogConfig, Ulimit

from sandbox import profiles
from sandbox.errors import EngineAway, HostFault
from sandbox.launchers import (
    base,
    box_files,
    cgroups,
    degraded_defences,
    docker_engine,
    docker_images,
    gpu,
)
from sandbox.launchers.base import Box, BoxSpec
from sandbox.launchers.docker_engine import EVENTS, EngineEvents
from sandbox.profiles import Profile, Say

_ASK_SECONDS = 10
ENGINE_ERRORS = (docker.errors.DockerException, OSError)
"""Errors of an engine that does not answer or refuses."""


def connect_engine(seconds: int) -> tuple[docker.DockerClient, dict[str, Any]]:
    """A client with this timeout, and the engine's ``info``. Raises HostFault if none answers."""
    try:
        engine = docker.from_env(timeout=seconds)
        return engine, engine.info()
    except ENGINE_ERRORS as error:
        raise HostFault(f"no Docker engine answers: {error}") from None


def describe_engine() -> dict[str, Any]:
    engine, info = connect_engine(_ASK_SECONDS)
    engine.close()
    return info


def engine_lacks(info: Mapping[str, Any]) -> tuple[str, ...]:
    """What an engine with this ``info`` cannot limit or lacks, one sentence each."""
    missing = []
    for field, resource in (
        ("MemoryLimit", "memory"),
        ("SwapLimit", "swap"),
        ("PidsLimit", "processes"),
        ("CpuCfsQuota", "cpu"),
    ):
        if info.get(field) is False:
            missing.append(f"the engine cannot limit {resource} on this kernel")
    if not any("seccomp" in option for option in info.get("SecurityOptions") or ()):
        missing.append("the engine has no seccomp profile of its own; only ours is in force")
    return tuple(missing)


RUN_LABEL = "pecking-order.run"
_INSIDE = "/run/peck"
_ENGINE_SECONDS = 60
_ANSWER_SECONDS = 2
_LOST_SECONDS = 5.0
_CONNECT_SECONDS = 30.0
_SOCKET_NAME = "control"
_LONGEST_SOCKET_PATH = 100
_MASKED = (
    *("/sys/firmware", "/sys/kernel", "/sys/block", "/sys/bus", "/sys/class", "/sys/dev"),
    *("/sys/module", "/sys/devices/virtual", "/sys/devices/system/node", "/sys/power"),
    "/sys/hypervisor",
)
"""Other host files that boxes do not see. The supervisor reads /sys/fs/cgroup."""


@dataclass(frozen=True)
class _DockerHandle:
    container: str
    epoch: int


class DockerLauncher(base.GroupedLauncher):
    """Starts boxes through the engine's socket. Raises HostFault at once if no engine answers."""

    name = "docker"
    reusable = True

    def __init__(self, run_dir: Path, runtime: str = "") -> None:
        self._boxes = run_dir / "boxes"
        self._facts = run_dir / "facts"
        self._images: dict[str, str] = {}
        self._lock = threading.Lock()
        self._ours: set[str] = set()
        """Names of the containers that run or start."""
        self._events = EngineEvents(self._open_event_stream, self._remove_strays, ENGINE_ERRORS)
        self._engine, self._info = connect_engine(_ENGINE_SECONDS)
        super().__init__(run_dir)
        self._runtime = docker_engine.find_runtime(self._info, runtime)
        is_plain = self._info.get("CgroupDriver") == "cgroupfs"
        self._parent = self._groups_name if is_plain else None
        """The control group of our boxes. With systemd each box is in systemd's own group, with
        its own weight.
        """

    def prepare(self, profile: Profile, say: Say) -> str:
        """Build the profile's image if it is missing. Returns its id, with the runtime's name if
        one was given.
        """
        if profile.gpu and not self.gpus():
            raise gpu.no_gpu_fault(profile.name)
        image = docker_images.find_image(self._engine, profile)
        if image is None and profile.on_command:
            raise profiles.not_built_fault(profile)
        if image is None:
            image = docker_images.build_image(self._engine, profile, say)
        self._images[profile.name] = image
        return self._runtime.digest(image)

    def has(self, profile: Profile) -> bool:
        if profile.gpu and not self.gpus():
            return False
        return docker_images.find_image(self._engine, profile) is not None

    def gpus(self) -> tuple[gpu.Gpu, ...]:
        """The GPUs that the engine can give to a container."""
        return () if self._runtime.is_gvisor else gpu.gpus_of_engine(self._info)

    def start(self, spec: BoxSpec) -> Box:
        """Start a container and wait until its supervisor has called back on its socket."""
        self._events.begin()
        epoch = self._events.epoch()
        folder = self._boxes / spec.name
        container: str | None = None
        control: socket.socket | None = None
        with self._lock:
            self._ours.add(self._name(spec))
        try:
            self._boxes.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._boxes.chmod(0o700)  # keeps the rest of the host away from the sockets below
            folder.mkdir(mode=0o711)
            folder.chmod(0o711)
            with _open_listener(folder / _SOCKET_NAME) as listener:
                container = self._create(spec, folder)
                self._events.follow(container)
                self._engine.api.start(container)
                if self._parent is not None:
                    cgroups.set_weight_of_boxes(self._parent)
                control = self._accept(listener, container)
            (folder / _SOCKET_NAME).unlink()
            group = self._group(spec, container)
        except (*ENGINE_ERRORS, HostFault) as error:
            if control is not None:
                control.close()
            self._remove(spec, container)
            kind = HostFault if self._events.is_current_epoch(epoch) else EngineAway
            raise kind(f"the engine gave no box: {error}") from None
        setup = base.supervisor_setup(
            spec, "uids", library_paths=[profiles.MOUNTED] if spec.profile.lock else []
        )
        setup["limits"] = self._runtime.limits(setup["limits"])
        return Box(spec, control, setup, _DockerHandle(container, epoch), group=group)

    def stop(self, box: Box) -> None:
        """Remove the container, whatever it does, and its folder."""
        handle: _DockerHandle = box.handle
        box.hang_up()
        self._remove(box.spec, handle.container)
        if box.group is not None:
            box.group.remove()

    def oom_kills(self, box: Box) -> int:
        """1 once the engine has reported any kill. The report may be a moment late.

        The supervisor counts inside its container, which is enough while it lives.
        """
        handle: _DockerHandle = box.handle
        was_killed = self._events.out_of_memory(handle.container)
        if self._runtime.is_gvisor and not was_killed:
            # A box that dies as a whole sometimes loses the report. Otherwise only somebody on the
            # host kills it.
            was_killed = self._events.was_killed(handle.container)
            was_killed = was_killed and not self._events.killed_by_request(handle.container)
        return int(was_killed)

    def lost_by_host(self, box: Box) -> str | None:
        """The host lost the box if the engine went away, or if somebody killed the supervisor.

        Agents cannot signal the supervisor, because its uid is another. They can cause a kill for
        memory, so a reported kill is theirs. In gVisor such a kill takes the whole box and is not
        always reported. So there only a kill through the engine is somebody else's.
        """
        handle: _DockerHandle = box.handle
        if box.has_hung_up:
            heard = self._events.wait_until_dead(handle.container, handle.epoch, _LOST_SECONDS)
            if not heard and not self._engine_answers(handle.container):
                return "the engine does not answer"
        if not self._events.is_current_epoch(handle.epoch):
            return "the engine was restarted"
        from_outside = (
            self._events.killed_by_request
            if self._runtime.is_gvisor
            else self._events.killed_from_outside
        )
        if from_outside(handle.container):
            return "the box's supervisor was ended by a signal from outside the box"
        return None

    def usable(self, box: Box) -> bool:
        handle: _DockerHandle = box.handle
        return self._events.is_current_epoch(handle.epoch)

    def sweep(self) -> None:
        try:
            containers = self._engine.api.containers(
                all=True, quiet=True, filters={"label": f"{RUN_LABEL}={self._key}"}
            )
        except ENGINE_ERRORS as error:
            raise HostFault(f"the engine cannot list containers: {error}") from None
        for entry in containers:
            self._force_off(entry["Id"])
        shutil.rmtree(self._boxes, ignore_errors=True)
        shutil.rmtree(self._facts, ignore_errors=True)
        self._sweep_match_groups()
        if self._parent is not None:
            cgroups.remove_groups_of_engine(self._parent)

    def close(self) -> None:
        self._engine.close()

    def lacks(self) -> tuple[str, ...]:
        root = os.geteuid() == 0
        lacks = degraded_defences.missing_protections(
            self.name, root=root, limits=True, powers=self._powers
        )
        if self._runtime.is_gvisor:
            lacks = degraded_defences.sentences_for_lack(degraded_defences.GVISOR)
        return (*engine_lacks(self._info), *lacks)

    def _group(self, spec: BoxSpec, container: str) -> cgroups.MatchGroup | None:
        """Make the box's match group.

        On a pure version 2 tree it is inside the container's group and keeps the container's
        limits. Beside version 1 controllers it is in a folder of ours. gVisor's processes cannot be
        put into a group.
        """
        if self._runtime.is_gvisor:
            return None
        if self._info.get("CgroupVersion") == "2":
            folder = cgroups.find_container_group(container, self._parent)
            return None if folder is None else cgroups.MatchGroup(folder / "match")
        return None if self._match_groups is None else self._match_groups.create(spec.name)

    def _create(self, spec: BoxSpec, folder: Path) -> str:
        overhead_mb = base.overhead_mb(spec.profile) + self._runtime.more_mb
        memory = f"{spec.memory_mb + overhead_mb}m"
        host = self._engine.api.create_host_config(
            network_mode="none",
            read_only=True,
            cap_drop=["ALL"],
            cap_add=list(base.CAPABILITIES),
            security_opt=["no-new-privileges"],
            pids_limit=base.MOST_PROCESSES + self._runtime.more_processes,
            mem_limit=memory,
            memswap_limit=memory,
            nano_cpus=round(base.CPUS * 1e9),
            cpu_shares=cgroups.SHARES,
            cgroup_parent=None if self._parent is None else f"/{self._parent}",
            ipc_mode="none",
            init=True,
            auto_remove=True,
            tmpfs={
                path: ",".join(("rw", *flags, *(() if "noexec" in flags else ("exec",)), options))
                for path, options, flags in base.writable_folders(spec.memory_mb)
            },
            log_config=LogConfig(type="none"),
            ulimits=[Ulimit(name="core", soft=base.CORE_BYTES, hard=base.CORE_BYTES)],
            binds=self._binds(spec, folder),
            device_requests=self._devices(spec),
            runtime=self._runtime.name or None,
        )
        host["KernelMemoryTCP"] = cgroups.TCP_BYTES  # for version 1; version 2 counts it as memory
        host["MaskedPaths"] = [*box_files.masked_paths(), *_MASKED, *_file_system_folders()]
        created = self._engine.api.create_container(
            self._images[spec.profile.name],
            ["python3", *base.PROGRAM_OPTIONS, f"path:{_INSIDE}/{_SOCKET_NAME}"],
            name=self._name(spec),
            hostname="box",
            user="0:0",
            working_dir="/",
            labels={RUN_LABEL: self._key},
            host_config=host,
            network_disabled=True,
        )
        return str(created["Id"])

    def _binds(self, spec: BoxSpec, folder: Path) -> dict[str, Mapping[str, str]]:
        """The read-only mounts: path on the host to path in the box."""
        shown = {str(folder): _INSIDE}
        if not self._runtime.is_gvisor:  # its kernel reports on itself, not on the host
            files = box_files.write_files(self._facts, spec.memory_mb)
            shown |= {str(source): path for path, source in files.items()}
        return {source: {"bind": path, "mode": "ro"} for source, path in shown.items()}

    def _devices(self, spec: BoxSpec) -> list[DeviceRequest] | None:
        return [DeviceRequest(**spec.gpu.docker_request(self._info))] if spec.gpu else None

    def _accept(self, listener: socket.socket, container: str) -> socket.socket:
        listener.settimeout(_CONNECT_SECONDS)
        try:
            control, _ = listener.accept()
        except TimeoutError:
            raise HostFault(
                f"container {container[:12]} did not call back; is {self._boxes} the same path "
                "on the engine's host?"
            ) from None
        return control

    def _remove(self, spec: BoxSpec, container: str | None) -> None:
        """Remove the box's folder and container. While the engine is away the container stays
        for later.
        """
        with contextlib.suppress(*ENGINE_ERRORS, EngineAway):
            if container is not None:
                self._events.forget(container)
                self._events.epoch()
                self._force_off(container)
                if self._parent is not None:
                    cgroups.remove_groups_of_engine(f"{self._parent}/{container}")
        with self._lock:
            self._ours.discard(self._name(spec))
        shutil.rmtree(self._boxes / spec.name, ignore_errors=True)

    def _name(self, spec: BoxSpec) -> str:
        """A unique name: several nodes of one engine may start at once, each with its probe."""
        return f"peck-{self._key}-{spec.name}"

    def _force_off(self, container: str) -> None:
        with contextlib.suppress(docker.errors.NotFound, docker.errors.APIError):
            self._engine.api.remove_container(container, force=True, v=True)

    def _open_event_stream(self) -> Iterable[Mapping[str, Any]]:
        label = f"{RUN_LABEL}={self._key}"
        filters = {"type": "container", "event": list(EVENTS), "label": label}
        events: Iterable[Mapping[str, Any]] = self._engine.api.events(decode=True, filters=filters)
        return events

    def _remove_strays(self) -> None:
        """Remove our containers that nobody uses. They could not be removed while the engine was
        away.
        """
        label = f"{RUN_LABEL}={self._key}"
        for entry in self._engine.api.containers(all=True, filters={"label": label}):
            names = {name.lstrip("/") for name in entry.get("Names") or ()}
            with self._lock:
                is_ours = bool(names & self._ours)
            if not is_ours:
                self._force_off(entry["Id"])

    def _engine_answers(self, container: str) -> bool:
        """Whether the engine can still inspect a container. Used only in a match's worst case."""
        try:
            with contextlib.closing(docker.from_env(timeout=_ANSWER_SECONDS)) as engine:
                engine.api.inspect_container(container)
        except docker.errors.NotFound:
            return True
        except ENGINE_ERRORS:
            return False
        return True


def _file_system_folders() -> list[str]:
    """Folders of the kernel's reports on its file systems, except the box's own control groups."""
    with contextlib.suppress(OSError):
        return [f"/sys/fs/{name}" for name in os.listdir("/sys/fs") if name != "cgroup"]
    return []


def _open_listener(path: Path) -> socket.socket:
    if len(str(path)) > _LONGEST_SOCKET_PATH:
        raise HostFault(f"run-dir: {path} is too long for a socket; use a shorter folder")
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(path))
    path.chmod(0o666)
    listener.listen(1)
    return listener
