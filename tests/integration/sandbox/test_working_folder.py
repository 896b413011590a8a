"""An agent has a working folder, a user name and a shell, and leaves nothing behind."""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sandbox.box.unpack import MOST_ENTRIES
from sandbox.box.working_folder import COPIED_BYTES, COPIED_FILES
from tests.integration.sandbox.archive_makers import tar_of_many
from tests.integration.sandbox.nodes import Bench, Player

WRITER = """
import os, shutil

def tree():
    return sorted(os.path.join(at, name) for at, folders, names in os.walk(".")
                  for name in folders + names)

BEFORE = [tree(), open("data/notes.txt").read(), open("main.py").read()[:7], os.stat(".").st_mtime]

def agent(obs):
    with open("made.txt", "w") as file:
        file.write("mine")
    with open("data/notes.txt", "a") as file:
        file.write("changed")
    os.chmod("tool", 0o700)
    os.makedirs("cache/deep/er")
    os.chmod("cache", 0)
    os.unlink("data/gone.txt")
    os.mkdir("data/gone.txt")
    os.symlink("/etc", "link")
    with open("main.py", "w") as file:
        file.write("broken")
    return BEFORE
"""
FILES = {
    "main.py": WRITER.encode(),
    "tool": b"#!/bin/sh\necho ran\n",
    "data/notes.txt": b"as packed",
    "data/gone.txt": b"",
}


def packed(bench: Bench, files: Mapping[str, bytes]) -> Path:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(content), 0o644
            archive.addfile(member, io.BytesIO(content))
    path = bench.folder / f"working-{os.urandom(4).hex()}.tar.gz"
    path.write_bytes(buffer.getvalue())
    return path


def answer(player: Player) -> Any:
    assert player.start() == {"k": "ready"}
    return player.move(step=0)


def test_each_match_starts_with_the_folder_as_packed(bench: Bench) -> None:
    bundle = packed(bench, FILES)
    uids = set()
    for _ in range(3):
        with bench.seat(bundle) as player:
            found = answer(player)
            ending = player.loan.end()
        assert ending.clean
        assert found == [
            ["./data", "./data/gone.txt", "./data/notes.txt", "./main.py", "./tool"],
            "as packed",
            "\nimport",
            0,
        ]
        uids.add(str(found))
    assert len(uids) == 1


def test_a_box_is_reused_after_a_match_changes_its_folder(bench: Bench) -> None:
    source = WRITER.replace("return BEFORE", "return os.getuid()")
    bundle = packed(bench, FILES | {"main.py": source.encode()})
    uids = []
    for _ in range(2):
        with bench.seat(bundle) as player:
            uid = answer(player)
            assert isinstance(uid, int)
            uids.append(uid)
    assert uids[0] < uids[1]
    assert uids[0] // 1000 == uids[1] // 1000


@pytest.mark.same_in_every_launcher
def test_a_bundle_with_very_many_files_leaves_the_box_clean(bench: Bench) -> None:
    source = """
def agent(obs):
    open("written", "w").close()
    return 1
"""
    names = (f"lib/{n // 100}/{n}" for n in range(MOST_ENTRIES - 1))
    bundle = bench.folder / "very-many.tar.gz"
    bundle.write_bytes(tar_of_many(names, b"", ("main.py", source.encode())))
    with bench.seat(bundle) as player:
        assert answer(player) == 1
        assert player.loan.end().clean


def test_two_seats_of_a_bundle_do_not_share_its_folder(bench: Bench) -> None:
    source = """
import os
def agent(obs):
    open(f"seat-{obs.index}", "w").close()
    return sorted(os.listdir("."))
"""
    bundle = bench.bundle(source)
    with bench.seat(bundle) as one, bench.seat(bundle) as two:
        for player in (one, two):
            player.start()
        assert one.move(step=0, index=0) == ["main.py", "seat-0"]
        assert two.move(step=0, index=1) == ["main.py", "seat-1"]


@pytest.mark.same_in_every_launcher
def test_files_beyond_the_copy_limit_are_read_only(bench: Bench) -> None:
    source = """
import os
def attempt(act, *args):
    try:
        act(*args)
        return "done"
    except OSError as error:
        return type(error).__name__
def agent(obs):
    return [attempt(open, "big", "a"), attempt(os.chmod, "big", 0o777), attempt(os.unlink, "big"),
            attempt(os.rename, "big", "other"), attempt(os.rmdir, "many"),
            attempt(os.utime, "big"), attempt(os.utime, ".", (1, 1)),
            os.path.getsize("big"), len(os.listdir("many")),
            sum(os.access(f"many/{name}", os.W_OK) for name in os.listdir("many"))]
"""
    files = {"main.py": source.encode(), "big": b"x" * (COPIED_BYTES + 1)}
    files |= {f"many/{number}": b"%d" % number for number in range(COPIED_FILES + 20)}
    bundle = packed(bench, files)
    for _ in range(2):
        with bench.seat(bundle) as player:
            *refused, size, many, writable = answer(player)
            assert player.loan.end().clean
        assert refused == ["PermissionError"] * 7
        assert (size, many, writable) == (COPIED_BYTES + 1, COPIED_FILES + 20, COPIED_FILES - 1)


@pytest.mark.parametrize("many", [False, True])
def test_a_filled_folder_is_emptied_for_the_next_match(bench: Bench, many: bool) -> None:
    source = f"""
import os
def agent(obs):
    found, written = sorted(os.listdir(".")), 0
    try:
        if {many}:
            for number in range(100_000):
                open(str(number), "w").close()
        for number in range(100):
            with open(f"full-{{number}}", "wb") as file:
                for _ in range(32):
                    written += file.write(bytes(1 << 20))
    except OSError as error:
        return [found, error.errno, written <= 96 << 20]
"""
    bundle = bench.bundle(source)
    for _ in range(2):
        with bench.seat(bundle) as player:
            assert answer(player) == [["main.py"], 28, True]
            player.loan.end()


def test_the_user_has_a_name_and_a_home(bench: Bench) -> None:
    source = """
import getpass, os, pathlib, pwd
def agent(obs):
    mine = pwd.getpwuid(os.getuid())
    (pathlib.Path.home() / "kept").write_text("x")
    return [getpass.getuser(), mine.pw_name, mine.pw_dir, os.environ["USER"], os.environ["LOGNAME"],
            pwd.getpwnam("agent").pw_uid == os.getuid(), os.path.expanduser("~agent")]
"""
    bundle = bench.bundle(source)
    for _ in range(2):
        with bench.seat(bundle) as player:
            assert answer(player) == ["agent", "agent", "/tmp", "agent", "agent", True, "/tmp"]


def test_agent_cannot_change_its_user_name(bench: Bench) -> None:
    source = """
import os
def attempt(act, *args):
    try:
        act(*args)
        return "done"
    except OSError as error:
        return error.errno
def agent(obs):
    return [attempt(open, "/etc/passwd", "a"), attempt(open, "/peck/own/left", "w"),
            attempt(os.unlink, "/peck/own/passwd"), attempt(os.utime, "/peck/own/passwd")]
"""
    assert set(bench.findings(source, step=0)) <= {1, 13, 30}


def test_shell_runs_a_script_of_an_agent(bench: Bench) -> None:
    source = """
import os, subprocess
def agent(obs):
    with open("tool", "w") as file:
        file.write("#!/bin/sh\\necho ran $((6 * 7))\\n")
    os.chmod("tool", 0o755)
    told = subprocess.run("./tool; echo $USER", shell=True, capture_output=True, text=True)
    return [told.stdout.split("\\n"), os.system("exit 3") >> 8]
"""
    assert bench.findings(source, step=0) == [["ran 42", "agent", ""], 3]


def test_system_libraries_of_compiled_code_can_be_loaded(bench: Bench) -> None:
    source = """
import ctypes
def agent(obs):
    return [bool(ctypes.CDLL(name)) for name in ("libmvec.so.1", "libm.so.6", "libstdc++.so.6")]
"""
    assert bench.findings(source, step=0) == [True] * 3


@pytest.mark.same_in_every_launcher
def test_missing_module_error_names_the_remedy(bench: Bench) -> None:
    for name, remedy in (
        ("torch", "torch is in the profile torch: add --profile torch"),
        ("sklearn", "sklearn is in the profile science: add --profile science"),
        ("requests", "requests is in no profile: put it into your folder (for a library,"
                     " `pip install --target FOLDER requests`)"),
    ):  # fmt: skip
        with bench.seat(bench.bundle(f"import {name}\ndef agent(obs): return 1\n")) as player:
            trace = player.start()["trace"]
        assert trace.endswith(f"ModuleNotFoundError: No module named '{name}'; {remedy}")
