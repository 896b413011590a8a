from __future__ import annotations

import os
import stat
from pathlib import Path

from sandbox.launchers import box_files


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
