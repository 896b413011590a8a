"""Boxes by a Docker engine. The only module that imports ``docker``.

Each container is one box: no network, read-only root, no capability but the supervisor's five, no
new privileges, bounded processes, memory (no swap), cpu and scratch, no shared memory, no log of
the engine's. What the agent prints never reaches the engine: a flood there would burn the host's
cpu outside every limit. The only thing mounted is a folder with the socket the supervisor calls
back on once; the listener is closed before any agent comes in.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import shutil
import socket
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import docker
import docker.errors
from docker.types import LogConfig, Ulimit

from sandbox import cgroups, launcher, profiles
from sandbox.doctor import degraded
from sandbox.errors import HostFault
from sandbox.launcher import Box, BoxSpec
from sandbox.profiles import Profile, Say

DOCKERFILE = Path(__file__).parent.parent / "deploy" / "images" / "box.Dockerfile"
RUN_LABEL = "pecking-order.run"
_CAPABILITIES = ["SETUID", "SETGID", "KILL", "CHOWN", "SETPCAP"]
_PROGRAM = "import sys; sys.path.append('/peck'); from peckbox.supervisor import main; main()"
_INSIDE = "/run/peck"
_ENGINE_SECONDS = 60
_ASK_SECONDS = 10
_CONNECT_SECONDS = 30.0
_BUILD_SECONDS = 900
_SOCKET_NAME = "control"
_LONGEST_SOCKET_PATH = 100
_TROUBLE = (docker.errors.DockerException, OSError)


class DockerLauncher:
    """Starts boxes through the engine's socket; HostFault at once when no engine answers."""

    name = "docker"
    reusable = True

    def __init__(self, run_dir: Path) -> None:
        self._boxes = run_dir / "boxes"
        self._key = hashlib.sha256(str(run_dir).encode()).hexdigest()[:12]
        self._images: dict[str, str] = {}
        self._match_groups = cgroups.find_match_groups(f"peck-{self._key}")
        self._powers = cgroups.powers_of(self._match_groups)
        try:
            self._engine = docker.from_env(timeout=_ENGINE_SECONDS)
            self._info: dict[str, Any] = self._engine.info()
        except _TROUBLE as error:
            raise HostFault(f"no Docker engine answers: {error}") from None

    def prepare(self, profile: Profile, say: Say) -> str:
        """The profile's image, built when it is missing; returns the image's id."""
        dockerfile = DOCKERFILE.read_bytes()
        tag = f"peck-box-{profile.name}:{profiles.content_digest(profile, dockerfile)[:16]}"
        try:
            image = self._engine.images.get(tag)
        except docker.errors.ImageNotFound:
            say(f"building image {tag} (once)")
            image = self._build(profile, tag, dockerfile)
        except _TROUBLE as error:
            raise HostFault(f"image {tag} cannot be looked up: {error}") from None
        self._images[profile.name] = str(image.id)
        return str(image.id)

    def start(self, spec: BoxSpec) -> Box:
        """A container whose supervisor has called back on its socket."""
        folder = self._boxes / spec.name
        container: str | None = None
        control: socket.socket | None = None
        try:
            self._boxes.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._boxes.chmod(0o700)  # keeps the rest of the host away from the sockets below
            folder.mkdir(mode=0o711)
            folder.chmod(0o711)
            with _listener(folder / _SOCKET_NAME) as listener:
                container = self._create(spec, folder)
                self._engine.api.start(container)
                control = self._accept(listener, container)
            (folder / _SOCKET_NAME).unlink()
            group = self._group(spec, container)
        except (*_TROUBLE, HostFault) as error:
            if control is not None:
                control.close()
            self._remove(container, folder)
            raise HostFault(f"the engine gave no box: {error}") from None
        setup = launcher.setup_of(
            spec, "uids", library_paths=[profiles.MOUNTED] if spec.profile.lock else []
        )
        return Box(spec, control, setup, container, group=group)

    def stop(self, box: Box) -> None:
        """Remove the container, whatever it does, and its folder."""
        box.control.close()
        self._remove(box.handle, self._boxes / box.spec.name)
        if box.group is not None:
            box.group.remove()

    def oom_kills(self, box: Box) -> int:
        """The supervisor counts inside its container; the engine is not asked in a match."""
        return 0

    def healthy(self) -> bool:
        """Whether the engine answers."""
        try:
            return bool(self._engine.ping())
        except _TROUBLE:
            return False

    def sweep(self) -> None:
        """Remove containers and folders of this run directory."""
        try:
            found = self._engine.api.containers(
                all=True, quiet=True, filters={"label": f"{RUN_LABEL}={self._key}"}
            )
        except _TROUBLE as error:
            raise HostFault(f"the engine cannot list containers: {error}") from None
        for entry in found:
            self._remove(entry["Id"], None)
        shutil.rmtree(self._boxes, ignore_errors=True)
        if self._match_groups is not None:
            self._match_groups.sweep()

    def lacks(self) -> tuple[str, ...]:
        """What the engine says it cannot limit, and what it runs without."""
        root = os.geteuid() == 0
        told = degraded.lacks(self.name, root=root, limits=True, powers=self._powers)
        return (*lacks_of(self._info), *told)

    def _group(self, spec: BoxSpec, container: str) -> cgroups.MatchGroup | None:
        """The box's match group: in the container's own group where the tree is one, which keeps
        the container's limits around it, and in a folder of ours beside version 1 controllers."""
        if self._info.get("CgroupVersion") == "2":
            folder = cgroups.container_folder(container)
            return None if folder is None else cgroups.MatchGroup(folder / "match")
        return None if self._match_groups is None else self._match_groups.create(spec.name)

    def _build(self, profile: Profile, tag: str, dockerfile: bytes) -> Any:
        context = _context(profile, dockerfile)
        try:
            image, _ = self._engine.images.build(
                fileobj=context, custom_context=True, tag=tag, rm=True, timeout=_BUILD_SECONDS
            )
        except docker.errors.BuildError as error:
            lines = [str(entry.get("stream", "")).strip() for entry in error.build_log]
            tail = " ".join([line for line in lines if line][-3:])
            raise HostFault(f"image {tag} cannot be built: {error.msg} {tail}") from None
        except _TROUBLE as error:
            raise HostFault(f"image {tag} cannot be built: {error}") from None
        return image

    def _create(self, spec: BoxSpec, folder: Path) -> str:
        memory = f"{spec.memory_mb + launcher.OVERHEAD_MB}m"
        scratch = f"rw,nosuid,nodev,noexec,mode=1777,size={launcher.SCRATCH_MB}m"
        bundle = f"rw,nosuid,nodev,exec,mode=755,size={launcher.unpacked_mb(spec.memory_mb)}m"
        inodes = f"nr_inodes={launcher.SCRATCH_INODES}"
        host = self._engine.api.create_host_config(
            network_mode="none",
            read_only=True,
            cap_drop=["ALL"],
            cap_add=_CAPABILITIES,
            security_opt=["no-new-privileges"],
            pids_limit=launcher.MOST_PROCESSES,
            mem_limit=memory,
            memswap_limit=memory,
            nano_cpus=round(launcher.CPUS * 1e9),
            ipc_mode="none",
            init=True,
            auto_remove=True,
            tmpfs={launcher.SCRATCH: f"{scratch},{inodes}", launcher.AGENT: f"{bundle},{inodes}"},
            log_config=LogConfig(type="none"),
            ulimits=[Ulimit(name="core", soft=launcher.CORE_BYTES, hard=launcher.CORE_BYTES)],
            binds={str(folder): {"bind": _INSIDE, "mode": "ro"}},
        )
        created = self._engine.api.create_container(
            self._images[spec.profile.name],
            [
                *("python3", "-I", "-S", "-B", "-c", _PROGRAM),
                f"path:{_INSIDE}/{_SOCKET_NAME}",
            ],
            name=f"peck-{spec.name}",
            hostname="box",
            user="0:0",
            working_dir="/",
            labels={RUN_LABEL: self._key},
            host_config=host,
            network_disabled=True,
        )
        return str(created["Id"])

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

    def _remove(self, container: str | None, folder: Path | None) -> None:
        if container is not None:
            with contextlib.suppress(docker.errors.NotFound, docker.errors.APIError):
                self._engine.api.remove_container(container, force=True, v=True)
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


def describe() -> dict[str, Any]:
    """The engine's own account of itself; HostFault when none answers."""
    try:
        engine = docker.from_env(timeout=_ASK_SECONDS)
        with contextlib.closing(engine):
            info: dict[str, Any] = engine.info()
    except _TROUBLE as error:
        raise HostFault(f"no Docker engine answers: {error}") from None
    return info


def lacks_of(info: Mapping[str, Any]) -> tuple[str, ...]:
    """What an engine of this account cannot limit, and what it runs without, a sentence each."""
    missing = []
    for field, what in (
        ("MemoryLimit", "memory"),
        ("SwapLimit", "swap"),
        ("PidsLimit", "processes"),
        ("CpuCfsQuota", "cpu"),
    ):
        if info.get(field) is False:
            missing.append(f"the engine cannot limit {what} on this kernel")
    if not any("seccomp" in option for option in info.get("SecurityOptions") or ()):
        missing.append("the engine has no seccomp profile of its own; only ours is in force")
    return tuple(missing)


def _listener(path: Path) -> socket.socket:
    if len(str(path)) > _LONGEST_SOCKET_PATH:
        raise HostFault(f"run-dir: {path} is too long for a socket; use a shorter folder")
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(path))
    path.chmod(0o666)
    listener.listen(1)
    return listener


def _context(profile: Profile, dockerfile: bytes) -> io.BytesIO:
    """The build's context as a tar: Dockerfile, lock, and the box's program, nothing else."""
    files = {"Dockerfile": dockerfile, "lock": profile.lock.read_bytes() if profile.lock else b""}
    files |= {f"box/{name}": content for name, content in profiles.program().items()}
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(content), 0o644
            archive.addfile(member, io.BytesIO(content))
    buffer.seek(0)
    return buffer
