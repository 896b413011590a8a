"""Local paths as bundles."""

from __future__ import annotations

import os
import tarfile
from pathlib import Path

import pytest

from sandbox.match.bundle_packing import BundleError, prepare_bundle
from services.cli.saved_login import MissingInput
from services.cli.submissions import pack


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    folder = tmp_path / "scratch"
    folder.mkdir()
    return folder


def _folder(at: Path) -> Path:
    (at / "lib" / "__pycache__").mkdir(parents=True)
    (at / ".git").mkdir()
    (at / ".git" / "config").write_text("secret")
    (at / "lib" / "__pycache__" / "x.pyc").write_text("cache")
    (at / "lib" / "search.py").write_text("DEPTH = 3\n")
    (at / "main.py").write_text("def agent(o): return 'NORTH'\n")
    return at


def test_a_file_or_archive_is_sent_unchanged(tmp_path: Path, scratch: Path) -> None:
    plain = tarfile.TarInfo("main.py").tobuf()
    for name, content in (
        ("a.py", b"x = 1\n"),
        ("a.tar.gz", b"\x1f\x8b.."),
        ("a.tar", plain),
        ("a.zip", b"PK.."),
    ):
        path = tmp_path / name
        path.write_bytes(content)
        assert prepare_bundle(path, scratch) == path
    assert not list(scratch.iterdir())


def test_a_folder_becomes_an_archive_without_caches(tmp_path: Path, scratch: Path) -> None:
    with tarfile.open(prepare_bundle(_folder(tmp_path / "agent"), scratch)) as archive:
        assert archive.getnames() == ["lib/search.py", "main.py"]


def test_equal_folders_give_equal_bytes(tmp_path: Path, scratch: Path) -> None:
    first, second = _folder(tmp_path / "one"), _folder(tmp_path / "two")
    os.utime(second / "main.py", (1, 1))
    (second / "main.py").chmod(0o600)
    assert (
        prepare_bundle(first, scratch).read_bytes() == prepare_bundle(second, scratch).read_bytes()
    )
    assert len(list(scratch.iterdir())) == 2


@pytest.mark.parametrize(
    ("name", "content", "word"),
    [
        ("missing.py", None, "no such file"),
        ("empty.py", b"", "empty"),
        ("picture.png", b"\x89PNG", "not a bundle"),
    ],
)
def test_a_file_that_is_not_an_agent_is_refused_with_a_remedy(
    tmp_path: Path, scratch: Path, name: str, content: bytes | None, word: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(BundleError, match=rf"{name}.*{word}.*main\.py"):
        prepare_bundle(tmp_path / name, scratch)


def test_a_folder_without_main_is_refused(tmp_path: Path, scratch: Path) -> None:
    with pytest.raises(BundleError, match=r"has no main\.py"):
        prepare_bundle(tmp_path, scratch)


def test_a_folder_with_a_manifest_needs_no_main(tmp_path: Path, scratch: Path) -> None:
    folder = tmp_path / "server"
    folder.mkdir()
    (folder / "peck.json").write_text('{"contract": "http", "entry": ["python", "server.py"]}')
    (folder / "server.py").write_text("pass\n")
    with tarfile.open(prepare_bundle(folder, scratch)) as archive:
        assert archive.getnames() == ["peck.json", "server.py"]
    with pack(folder) as (name, file):
        assert name == "server.tar.gz"
        assert file.is_file()
    assert not file.exists()


@pytest.mark.parametrize(
    ("manifest", "reason"),
    [
        ('{"contract": "pipe"}', r"peck\.json: contract: must be one of"),
        ("{}", r"there is no file main\.py, which peck\.json starts"),
        (
            '{"contract": "lines", "entry": ["python", "bot.py"]}',
            r"there is no file bot\.py, which peck\.json starts",
        ),
    ],
)
def test_a_folder_that_cannot_start_is_not_sent(tmp_path: Path, manifest: str, reason: str) -> None:
    (tmp_path / "peck.json").write_text(manifest)
    with pytest.raises(MissingInput, match=reason), pack(tmp_path):
        pass


def test_an_executable_file_of_a_folder_stays_executable(tmp_path: Path, scratch: Path) -> None:
    folder = _folder(tmp_path / "agent")
    (folder / "lib" / "search.py").chmod(0o755)
    with tarfile.open(prepare_bundle(folder, scratch)) as archive:
        assert [member.mode for member in archive] == [0o755, 0o644]


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("/etc/passwd", "a link that leads out of the folder, to /etc/passwd"),
        ("../../outside", "a link that leads out of the folder"),
        ("lib", "a link to a folder"),
        ("nothing", "a link to no file"),
    ],
)
def test_an_unusable_link_is_refused_by_name(tmp_path: Path, target: str, reason: str) -> None:
    folder = _folder(tmp_path / "agent")
    (tmp_path / "outside").mkdir()
    (folder / "lib" / "weights").symlink_to(target if target != "lib" else "../lib")
    with pytest.raises(MissingInput, match=f"lib/weights: {reason}"), pack(folder):
        pass


def test_a_main_py_linked_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "agent"
    folder.mkdir()
    (tmp_path / "secret.py").write_text("x = 1\n")
    (folder / "main.py").symlink_to(tmp_path / "secret.py")
    with pytest.raises(MissingInput, match=r"main\.py: a link that leads out"), pack(folder):
        pass


def test_a_link_inside_the_folder_is_packed_as_a_file(tmp_path: Path, scratch: Path) -> None:
    folder = _folder(tmp_path / "agent")
    (folder / "copy.py").symlink_to("lib/search.py")
    with tarfile.open(prepare_bundle(folder, scratch)) as archive:
        member = archive.extractfile("copy.py")
        assert member is not None
        assert member.read() == b"DEPTH = 3\n"


def test_a_pipe_in_a_folder_is_refused_by_name(tmp_path: Path) -> None:
    folder = _folder(tmp_path / "agent")
    os.mkfifo(folder / "queue")
    with pytest.raises(MissingInput, match="queue: a pipe, socket or device"), pack(folder):
        pass


@pytest.mark.parametrize("path", ["/dev/null", "pipe"])
def test_a_pipe_or_device_as_agent_is_refused(tmp_path: Path, path: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    refused = pytest.raises(MissingInput, match="neither a file nor a folder; give a main")
    with refused, pack(tmp_path / path):
        pass


def test_preparing_a_pipe_raises_bundle_error(tmp_path: Path, scratch: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    with pytest.raises(BundleError, match="neither a file nor a folder"):
        prepare_bundle(tmp_path / "pipe.py", scratch)
