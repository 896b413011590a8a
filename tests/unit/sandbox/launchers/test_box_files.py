"""Files of this machine that boxes see."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from sandbox.errors import HostFault
from sandbox.launchers import box_files

PROGRAM = os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)
STDLIB = sysconfig.get_path("stdlib")


def test_copies_hold_every_library_of_the_interpreter(tmp_path: Path) -> None:
    home = box_files.copy_libraries(tmp_path, PROGRAM, STDLIB)
    names = {path.name for path in home.rglob("*") if path.is_file()}
    modules = [str(path) for path in Path(STDLIB, "lib-dynload").glob("[!_]*.so")]
    told = subprocess.run(["ldd", PROGRAM, *modules], capture_output=True, text=True, check=False)
    needed = set(re.findall(r"^\t(\S+) => /", told.stdout, re.MULTILINE))
    assert needed
    assert needed <= names


def test_a_copied_program_starts_with_the_copied_loader_only(tmp_path: Path) -> None:
    home = box_files.copy_libraries(tmp_path, PROGRAM, STDLIB)
    loader = next(path for path in home.rglob("ld-*") if path.is_file())
    folders = ":".join({str(path.parent) for path in home.rglob("libc.*")})
    command = [str(loader), "--library-path", folders, PROGRAM, "-I", "-S", "-c"]
    script = "print(*{l.split()[-1] for l in open('/proc/self/maps') if '.so' in l}, sep='\\n')"
    told = subprocess.run([*command, script], capture_output=True, text=True, check=True)
    loaded = [path for path in told.stdout.split() if not path.startswith(STDLIB)]
    assert loaded
    assert all(path.startswith(str(home)) for path in loaded)


def test_a_changed_interpreter_is_copied_again(tmp_path: Path) -> None:
    program = tmp_path / "python"
    shutil.copy(PROGRAM, program)
    first = box_files.copy_libraries(tmp_path, str(program), STDLIB)
    made_at = first.stat().st_mtime_ns
    assert box_files.copy_libraries(tmp_path, str(program), STDLIB) == first
    assert first.stat().st_mtime_ns == made_at
    os.utime(program, (1, 1))
    assert box_files.copy_libraries(tmp_path, str(program), STDLIB) != first


def test_links_give_every_copy_the_usual_path(tmp_path: Path) -> None:
    home = box_files.copy_libraries(tmp_path, PROGRAM, STDLIB)
    paths = dict((path, target) for target, path in box_files.library_links(home))
    assert all(target == box_files.MOUNTED + path for path, target in paths.items())
    folders = box_files.link_folders(home)
    assert {os.path.dirname(path) for path in paths} <= set(folders)
    assert folders == sorted(folders)
    assert os.path.exists(next(path for path in paths if "/libc.so" in path))


def test_an_interpreter_without_a_c_library_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(box_files, "_needed_libraries", lambda program, folder: iter(()))
    with pytest.raises(HostFault, match="no C library"):
        box_files.copy_libraries(tmp_path, PROGRAM, STDLIB)
    assert list((tmp_path / "systems").iterdir()) == []


def test_every_name_below_proc_is_masked_fixed_or_known(tmp_path: Path) -> None:
    fixed = box_files.write_files(tmp_path, 128)
    own = {"/proc/mounts", "/proc/net", "/proc/self", "/proc/thread-self"}
    constant = {"/proc/filesystems", "/proc/version"}
    names = {f"/proc/{name}" for name in os.listdir("/proc") if not name.isdigit()}
    assert names <= {*box_files.masked_paths(), *fixed, *own, *constant}
    assert not set(box_files.masked_paths()) & {*fixed, *own}


def test_fixed_files_describe_the_box(tmp_path: Path) -> None:
    first, second = (box_files.write_files(tmp_path, 128) for _ in range(2))
    assert first == second
    memory = first["/proc/meminfo"].read_text()
    assert "MemTotal:" in memory
    assert str(128 << 10) in memory
    assert "Shmem:                 0 kB" in memory
    assert box_files.write_files(tmp_path, 256)["/proc/meminfo"] != first["/proc/meminfo"]
    clocks = [
        line.split(":")[1].strip()
        for line in first["/proc/cpuinfo"].read_text().splitlines()
        if line.startswith("cpu MHz")
    ]
    assert set(clocks) <= {"1000.000"}


def test_fixed_files_are_world_readable(tmp_path: Path) -> None:
    old = os.umask(0o077)
    try:
        files = box_files.write_files(tmp_path, 128)
    finally:
        os.umask(old)
    for path in files.values():
        for one in (path, *path.rglob("*")):
            wanted = 0o755 if one.is_dir() else 0o644
            assert stat.S_IMODE(one.stat().st_mode) == wanted


def test_fixed_files_show_all_cores(tmp_path: Path) -> None:
    files = box_files.write_files(tmp_path, 128)
    count = os.cpu_count()
    assert files["/proc/stat"].read_text().count("\ncpu") == count
    online = (files[box_files.DEVICES] / "system/cpu/online").read_text().strip()
    assert online == ("0" if count == 1 else f"0-{(count or 1) - 1}")
