"""The content of box images, and their build without a registry."""

from __future__ import annotations

import contextlib
import secrets
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import docker
import pytest

from games import GAMES
from sandbox import profiles
from sandbox.errors import HostFault
from sandbox.launchers import docker_images
from sandbox.match import referee
from sandbox.match.clock import Clock
from sandbox.match.loans import SeatRequest, borrow_seats
from sandbox.match.referee import EpisodeRequest
from tests.integration.sandbox.conftest import require
from tests.integration.sandbox.nodes import HONEST, Bench, start_node

pytestmark = pytest.mark.docker
LIBRARY_FOLDERS = ("peck/python/lib/", "peck/libraries/", "peck/peckbox/")
UNWANTED = {
    *("bash", "dash", "busybox", "su", "mount", "umount", "chroot", "nsenter", "unshare"),
    *("gcc", "cc", "c++", "g++", "clang", "tcc", "ld", "as", "make", "perl", "gdb", "strace"),
    *("apt", "apt-get", "dpkg", "apk", "dnf", "pip", "pip3", "conda", "curl", "wget", "nc", "ssh"),
}
NAMES = (*profiles.BY_ITSELF, *profiles.ON_COMMAND)


@dataclass(frozen=True)
class Scanned:
    """The files of an image and its metadata."""

    members: list[tarfile.TarInfo]
    users: str
    """The target of the link ``/etc/passwd``."""
    labels: dict[str, str]

    def files(self) -> list[tarfile.TarInfo]:
        return [member for member in self.members if member.isfile()]


@contextlib.contextmanager
def client() -> Iterator[Any]:
    require("docker")
    found = docker.from_env(timeout=120)
    try:
        yield found
    finally:
        found.close()


def scan(found: Any, image_id: str) -> Scanned:
    """Read an image by ``docker export`` of a container that never starts."""
    container = found.containers.create(image_id, command=["none"])
    try:
        with tempfile.TemporaryFile() as file:
            for chunk in container.export():
                file.write(chunk)
            file.seek(0)
            with tarfile.open(fileobj=file) as archive:
                members = archive.getmembers()
                users = archive.getmember("etc/passwd").linkname
    finally:
        container.remove(force=True)
    return Scanned(members, users, found.images.get(image_id).labels)


@pytest.fixture(scope="module", params=NAMES)
def scanned(request: pytest.FixtureRequest) -> Scanned:
    """Each profile's image; large ones only if they are built."""
    profile = profiles.get_profile(request.param)
    with client() as found:
        image_id = docker_images.find_image(found, profile)
        if image_id is None and profile.on_command:
            pytest.skip("not built here")
        return scan(found, image_id or docker_images.build_image(found, profile, print))


def test_no_file_of_an_image_raises_privileges(scanned: Scanned) -> None:
    assert [m.name for m in scanned.members if m.mode & 0o6000] == []
    assert [m.name for m in scanned.members if m.isdev()] == []


def test_only_root_may_change_files_of_an_image(scanned: Scanned) -> None:
    # The engine adds its own mount points to every container; they are not in the image.
    own = [m for m in scanned.files() if m.name.startswith(("peck/", "usr/"))]
    assert {(m.uid, m.gid) for m in own} == {(0, 0)}
    assert [m.name for m in own if m.mode & 0o022] == []
    assert scanned.users == "/peck/own/passwd", "each box writes its own list of users"


def test_no_compiler_or_package_manager_is_inside(scanned: Scanned) -> None:
    programs = {PurePosixPath(m.name).name for m in scanned.files() if m.mode & 0o111}
    assert programs & UNWANTED == set()
    folders = {m.name.partition("/")[0] for m in scanned.members}
    assert folders.isdisjoint({"sbin", "root", "home", "opt", "context", "var"})
    for library in ("pip", "ensurepip"):
        assert not any(f"/{library}/" in m.name for m in scanned.members)


def test_library_modules_are_compiled(scanned: Scanned) -> None:
    names = {m.name for m in scanned.files()}
    sources = [n for n in names if n.startswith(LIBRARY_FOLDERS) and n.endswith(".py")]
    assert len(sources) > 400
    compiled = {PurePosixPath(n) for n in names if n.endswith(".pyc")}
    stems = {(path.parent.parent, path.name.partition(".")[0]) for path in compiled}
    missing = [n for n in sources if (PurePosixPath(n).parent, PurePosixPath(n).stem) not in stems]
    # Templates and samples that are no valid source cannot be imported anyway.
    assert len(missing) <= len(sources) // 100, missing[:20]


def test_an_image_is_labelled_with_its_base(scanned: Scanned) -> None:
    assert scanned.labels[docker_images.BOX_LABEL] in profiles.PROFILES
    assert scanned.labels[docker_images.BASE_LABEL]


def test_a_changed_program_gets_another_image(monkeypatch: pytest.MonkeyPatch) -> None:
    profile = profiles.get_profile("python")
    before = docker_images.image_tag(profile)
    monkeypatch.setattr(profiles, "program_files", lambda: {"supervisor.py": b"changed"})
    assert docker_images.image_tag(profile) != before


def test_without_a_registry_the_image_uses_the_local_interpreter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An agent plays in the image; an image of another program can be pruned."""
    require("docker")
    monkeypatch.setenv("PECK_PYTHON_IMAGE", "registry.invalid/no/such:image")
    # This program is unique, so images of other tests and runs stay.
    unique = f"# {secrets.token_hex()}".encode()
    program = {**profiles.program_files(), "unlike_any_other.py": unique}
    monkeypatch.setattr(profiles, "program_files", lambda: program)
    profile = profiles.get_profile("python")
    said: list[str] = []
    with client() as found:
        image_id = docker_images.build_image(found, profile, said.append)
        try:
            assert any("cannot be pulled" in line for line in said), said
            inside = scan(found, image_id)
            assert inside.labels[docker_images.BASE_LABEL].startswith("this machine: cpython 3.")
            test_no_file_of_an_image_raises_privileges(inside)
            test_only_root_may_change_files_of_an_image(inside)
            test_no_compiler_or_package_manager_is_inside(inside)
            test_library_modules_are_compiled(inside)
            ran = found.containers.run(
                image_id,
                ["python3", "-I", "-S", "-c", "import ssl, sqlite3, sys; print(sys.prefix)"],
                network_mode="none",
                remove=True,
            )
            assert ran.decode().strip() == "/peck/python"
        finally:
            monkeypatch.undo()  # now the image belongs to an outdated program
            old = [image for image in docker_images.stale_images(found) if image.id == image_id]
            gone = [docker_images.remove_image(found, image) for image in old]
        assert gone == [True]
        with pytest.raises(docker.errors.ImageNotFound):
            found.images.get(image_id)


def test_a_failed_build_names_the_missing_base_and_libraries(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PECK_PYTHON_IMAGE", "registry.invalid/no/such:image")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    with client() as found, pytest.raises(HostFault) as fault:
        docker_images.build_image(found, profiles.get_profile("numpy"), print)
    assert "cannot be pulled" in str(fault.value)
    assert "libraries of profile numpy cannot be had" in str(fault.value)


def test_a_loan_names_its_image(bench: Bench) -> None:
    with bench.seat(bench.bundle(HONEST), "python") as player:
        assert player.start() == {"k": "ready"}
        digest = player.loan.image_digest
    if bench.launcher == "docker":
        with client() as found:
            assert digest == docker_images.find_image(found, profiles.get_profile("python"))
    else:
        assert digest.startswith("bubblewrap:")


def test_a_box_without_an_image_uses_the_interpreter_of_the_node(
    bench: Bench,
) -> None:
    version = bench.findings("import sys\ndef agent(observation):\n    return sys.version\n")
    if bench.launcher == "bubblewrap":
        assert version == sys.version, "and not with a shared library of another version"
    else:
        assert version.startswith("3.")


GEESE = GAMES["hungry_geese"]
NET = """
import torch

torch.manual_seed(7)
net = torch.nn.Sequential(torch.nn.Linear(77, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))

def agent(observation, configuration):
    board = torch.zeros(1, 77)
    for goose in observation["geese"]:
        board[0, goose] = 1.0
    with torch.no_grad():
        net(board)
    return "EAST"
"""


@pytest.mark.parametrize(
    "launcher",
    [
        pytest.param("docker", marks=pytest.mark.docker),
        pytest.param("bubblewrap", marks=pytest.mark.bubblewrap),
    ],
)
def test_an_agent_with_a_small_torch_net_plays(
    launcher: str, short_folder: Callable[[], Path]
) -> None:
    require(launcher)
    profile = profiles.get_profile("torch")
    if launcher == "docker":
        with client() as found:
            built = docker_images.find_image(found, profile) is not None
    else:
        built = profiles.installed_libraries(profile, profiles.cache_dir()) is not None
    if not built:
        pytest.skip("not built here")
    folder = short_folder()
    main = folder / "main.py"
    main.write_text(NET)
    node = start_node(folder, launcher, "--warm", "2", "--profile", "torch")
    try:
        for seed in (b"s" * 16, b"t" * 16):
            requests = [SeatRequest("torch", main, 512)] * 2
            with borrow_seats(node.socket, requests, 120.0) as loans:
                played = referee.play_episode(
                    EpisodeRequest(
                        GEESE,
                        GEESE.configure({"episodeSteps": 60}),
                        Clock(),
                        seed,
                        loans,
                        max_parallel_seats=1,
                        stop_after_seconds=120.0,
                    )
                )
            assert played.episode.verdicts == ("DONE", "DONE"), node.log.read_text()
    finally:
        assert node.stop() == 0, node.log.read_text()
