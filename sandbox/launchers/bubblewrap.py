"""Starts boxes with bubblewrap: namespaces and a control group without a container engine.

As root a box is as strong as a container. It has no network, its own processes, and a read-only
root with only the interpreter. Its scratch has limits on bytes and inodes. The supervisor has five
capabilities. The agent has none, and each match has its own uid.

As an ordinary user the box has only one uid, so it plays one match. Without the right to make
control groups, memory is limited only per process. ``lacks`` reports this.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

from sandbox import profiles
from sandbox.errors import HostFault
from sandbox.launchers import base, box_files, cgroups, degraded_defences, gpu
from sandbox.launchers.base import Box, BoxSpec
from sandbox.launchers.docker_engine import FROM_OUTSIDE
from sandbox.profiles import Profile, Say

INSTALL = "Type as root: apt-get install -y bubblewrap"
TRY = "To see what this machine refuses, type: bwrap --unshare-all --ro-bind / / true"
_CAPABILITIES = (*base.CAPABILITIES, "SYS_ADMIN")
"""For the supervisor. It gives the last one up once it has mounted the scratch."""
_SYSTEM_LINKS = ("/lib", "/lib64")
_PARENTS = (
    *("/usr", "/etc", "/sys", "/kaggle_simulations"),
    *("/peck", "/peck/python", "/peck/python/bin", "/peck/python/lib"),
)
_DEVICES = tuple(f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom", "tty"))
"""bubblewrap shows the host's own files. Their times would signal to other boxes."""
_PYTHON = "/peck/python/bin/python3"
_JOIN = 'while [ "$1" != -- ]; do echo $$ >"$1" || exit 71; shift; done; shift; exec "$@"'
_FIRST = "echo 1000 >/proc/self/oom_score_adj; "
"""If no group limits a box's memory, the kernel should kill in the box first."""
_STOP_SECONDS = 5.0


@dataclass(frozen=True)
class _BubblewrapHandle:
    process: subprocess.Popen[bytes]
    group: cgroups.BoxGroup | None


class BubblewrapLauncher(base.GroupedLauncher):
    """Starts boxes with ``bwrap``. Raises HostFault if it is not installed or not allowed."""

    name = "bubblewrap"

    def __init__(self, run_dir: Path, state_dir: Path) -> None:
        program = shutil.which("bwrap")
        if program is None:
            raise HostFault(f"bubblewrap is not installed. {INSTALL}")
        super().__init__(run_dir)
        self._program = program
        self._state_dir = state_dir
        self._libraries: dict[str, Path | None] = {}
        self._program_folder = profiles.BOX_PROGRAM
        self._system: Path | None = None
        self._root = os.geteuid() == 0
        self.reusable = self._root
        self._tree = cgroups.find_box_groups(self._groups_name)
        self._options = subprocess.run(
            [program, "--help"], capture_output=True, text=True, check=False
        ).stdout

    def prepare(self, profile: Profile, say: Say) -> str:
        """Install the profile's libraries in the state directory. The digest covers them and our
        program.
        """
        if profile.gpu and not self.gpus():
            raise gpu.no_gpu_fault(profile.name)
        self._libraries[profile.name] = profiles.ensure_libraries(profile, self._state_dir, say)
        self._program_folder = profiles.compiled_program(self._state_dir)
        self._system = box_files.copy_libraries(
            self._state_dir, _interpreter_path(), _stdlib_of_host()
        )
        return f"bubblewrap:{profiles.content_digest(profile, sys.version.encode())}"

    def has(self, profile: Profile) -> bool:
        if profile.gpu and not self.gpus():
            return False
        return (
            profile.lock is None
            or profiles.installed_libraries(profile, self._state_dir) is not None
        )

    def gpus(self) -> tuple[gpu.Gpu, ...]:
        return gpu.find_gpus()

    def start(self, spec: BoxSpec) -> Box:
        """Start a box in its own control group. Its supervisor uses a socket pair."""
        ours, theirs = socket.socketpair()
        group = match_group = None
        try:
            group, match_group = self._groups(spec)
            joins = [str(path) for path in group.process_files] if group else []
            with theirs, _options_file(self._command(spec)[1:]) as options:
                command = [self._program, "--args", str(options.fileno()), "--"]
                command += [_PYTHON, *base.PROGRAM_OPTIONS]
                script = _JOIN if group is not None else _FIRST + _JOIN
                process = subprocess.Popen(
                    [
                        "/bin/sh",
                        "-c",
                        script,
                        "sh",
                        *joins,
                        "--",
                        *command,
                        f"fd:{theirs.fileno()}",
                    ],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                    pass_fds=(theirs.fileno(), options.fileno()),
                    env={},
                    cwd="/",
                )
        except BaseException:
            ours.close()
            for half_made in (match_group, group):
                if half_made is not None:
                    half_made.remove()
            raise
        handle = _BubblewrapHandle(process, group)
        complaint = partial(_kill_and_describe_failure, process)
        return Box(spec, ours, self._setup(spec), handle, complaint, match_group)

    def stop(self, box: Box) -> None:
        """Close the connection, which ends the supervisor and its namespaces. Then remove the
        group.
        """
        handle: _BubblewrapHandle = box.handle
        box.hang_up()
        try:
            handle.process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            handle.process.kill()
            handle.process.wait()
        if handle.process.stderr is not None:
            handle.process.stderr.close()
        for group in (box.group, handle.group):
            if group is not None:
                group.remove()

    def oom_kills(self, box: Box) -> int:
        handle: _BubblewrapHandle = box.handle
        return handle.group.oom_kills() if handle.group is not None else 0

    def lost_by_host(self, box: Box) -> str | None:
        """The host lost the box if a signal that no agent could cause killed the supervisor.

        As root, agents have another uid and cannot signal it. Then only a kill for memory could be
        the agent's doing, so the control group must show none.
        """
        handle: _BubblewrapHandle = box.handle
        if not self._root or handle.group is None or not box.has_hung_up:
            return None
        try:
            code = handle.process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            return None
        code = 128 - code if code < 0 else code
        if code not in FROM_OUTSIDE or handle.group.oom_kills():
            return None
        return f"the box's supervisor was ended by signal {code - 128} from outside the box"

    def usable(self, box: Box) -> bool:
        return True

    def sweep(self) -> None:
        if self._tree is not None:
            self._tree.sweep()
        self._sweep_match_groups()

    def lacks(self) -> tuple[str, ...]:
        limits = self._tree is not None
        lacking = degraded_defences.missing_protections(
            self.name, root=self._root, limits=limits, powers=self._powers
        )
        return (*lacking, *gpu.gpu_lacks())

    def _groups(self, spec: BoxSpec) -> tuple[cgroups.BoxGroup | None, cgroups.MatchGroup | None]:
        """The box's group and the match group. On version 2 the match group is inside the box's
        group.
        """
        group = None
        if self._tree is not None:
            memory_mb = spec.memory_mb + base.overhead_mb(spec.profile)
            group = self._tree.create(spec.name, memory_mb, base.MOST_PROCESSES, base.CPUS)
        try:
            if group is not None and group.version == 2:
                return group, cgroups.MatchGroup(group.folders["cpu"] / "match")
            if self._match_groups is not None:
                return group, self._match_groups.create(spec.name)
        except HostFault:
            if group is not None:
                group.remove()
            raise
        return group, None

    def _setup(self, spec: BoxSpec) -> dict[str, object]:
        limits = dict(base.LIMITS)
        if self._tree is None:
            limits["DATA"] = spec.memory_mb << 20
        libraries = [profiles.MOUNTED] if self._libraries.get(spec.profile.name) else []
        return base.supervisor_setup(
            spec,
            "uids" if self._root else "single",
            limits=limits,
            library_paths=libraries,
            mounts=_mounts(spec) if self._root else [],
        )

    def _command(self, spec: BoxSpec) -> list[str]:
        command = [self._program, "--die-with-parent", "--new-session", "--clearenv"]
        command += ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts"]
        command += ["--unshare-cgroup-try", "--hostname", "box", "--cap-drop", "ALL"]
        if self._root:
            for capability in _CAPABILITIES:
                command += ["--cap-add", f"CAP_{capability}"]
        else:
            # With one uid, the agent could signal and write to bwrap's own reaper. As process 1 the
            # supervisor cannot be killed or stopped from inside.
            command += ["--unshare-user", "--uid", "1000", "--gid", "1000", "--as-pid-1"]
            if "--disable-userns" in self._options:
                command.append("--disable-userns")
        command += [*self._files(spec), *_usual_path_options()]
        if self._root:
            for folder in (base.SCRATCH, base.AGENT, base.OWN):
                command += ["--dir", folder]
        else:
            command += self._tmpfs_options(base.SCRATCH_MB, base.SCRATCH)
            command += self._tmpfs_options(base.unpacked_limit_mb(spec.memory_mb), base.AGENT)
            command += self._tmpfs_options(1, base.OWN)
        return [*command, "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/"]

    def _files(self, spec: BoxSpec) -> list[str]:
        """Mounts of the read-only root: system libraries, the interpreter and our program."""
        files = ["--proc", "/proc", "--dev", "/dev"]
        # Unless named, parents of mounted folders are closed to everybody but root.
        for folder in _PARENTS:
            files += ["--dir", folder]
        for path in box_files.masked_paths():
            # Nobody in a box may change the host's settings, not even a compromised supervisor.
            files += (
                ["--tmpfs", path, "--remount-ro", path]
                if os.path.isdir(path)
                else ["--ro-bind", "/dev/null", path]
            )
        for path, source in box_files.write_files(self._state_dir, spec.memory_mb).items():
            files += ["--ro-bind", str(source), path]
        files += self._system_files()
        # Mounted at our own path, because other users may not enter a home folder.
        files += [
            "--ro-bind",
            _interpreter_path(),
            _PYTHON,
            "--ro-bind",
            _stdlib_of_host(),
            _stdlib_in_box(),
        ]
        for name in ("site-packages", "dist-packages"):
            own = f"{sysconfig.get_path('stdlib')}/{name}"
            if os.path.isdir(own):
                files += ["--tmpfs", f"{_stdlib_in_box()}/{name}"]
        files += ["--ro-bind", str(self._program_folder), profiles.PROGRAM_MOUNTED]
        libraries = self._libraries.get(spec.profile.name)
        if libraries is not None:
            files += ["--ro-bind", str(libraries), profiles.MOUNTED]
        if spec.gpu is not None:
            files += spec.gpu.bubblewrap_options()
        return files

    def _system_files(self) -> list[str]:
        assert self._system is not None, "prepare() comes first"
        files = ["--ro-bind", str(self._system), box_files.MOUNTED]
        for folder in box_files.link_folders(self._system):
            files += ["--dir", folder]
        for link in _SYSTEM_LINKS:
            if os.path.islink(link):
                files += ["--symlink", os.readlink(link), link]
        for target, path in box_files.library_links(self._system):
            files += ["--symlink", target, path]
        return files

    def _tmpfs_options(self, size_mb: int, path: str) -> list[str]:
        size = ["--size", str(size_mb << 20)] if "--size" in self._options else []
        return [*size, "--tmpfs", path]


def _kill_and_describe_failure(process: subprocess.Popen[bytes]) -> str:
    """End the box and return the last lines that bwrap and the supervisor wrote."""
    process.kill()
    process.wait()
    assert process.stderr is not None
    os.set_blocking(process.stderr.fileno(), False)
    return (process.stderr.read() or b"")[-400:].decode("utf-8", "replace")


def _usual_path_options() -> list[str]:
    """Options that put a shell and the list of users at the paths where programs expect them."""
    options = ["--dir", "/usr/bin", "--symlink", "usr/bin", "/bin"]
    if os.path.exists(box_files.SHELL):
        options += ["--ro-bind", os.path.realpath(box_files.SHELL), "/usr/bin/sh"]
    for link, target in base.OWN_LINKS.items():
        options += ["--symlink", target, link]
    return options


def _mounts(spec: BoxSpec) -> list[dict[str, object]]:
    devices = [dict[str, object](path=path, flags=["read_only", "nosuid"]) for path in _DEVICES]
    folders = [
        dict[str, object](path=path, options=options, flags=flags)
        for path, options, flags in base.writable_folders(spec.memory_mb)
    ]
    return devices + folders


def _stdlib_in_box() -> str:
    return f"/peck/python/lib/{Path(sysconfig.get_path('stdlib')).name}"


def _stdlib_of_host() -> str:
    return sysconfig.get_path("stdlib")


def _interpreter_path() -> str:
    return os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)


def _options_file(options: list[str]) -> IO[bytes]:
    """A file for ``--args``. Every agent could read the host's paths in a command line."""
    file = os.fdopen(os.memfd_create("options"), "w+b")
    file.write(b"".join(os.fsencode(option) + b"\0" for option in options))
    file.seek(0)
    return file
