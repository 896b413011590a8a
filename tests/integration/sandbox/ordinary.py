"""Runs programs as an ordinary user, even when the tests run as root.

As root it makes a private mount namespace that opens the closed folders above interpreter,
environment and checkout. Then it changes to a uid without name, groups or capabilities. As an
ordinary user it does nothing.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

from tests.integration.sandbox.nodes import ROOT

UID = 65_533

_ENTER = """
set -e
aside=$1; needed=$2; closed=$3; shift 3
number=0
for folder in $needed; do
    number=$((number + 1))
    mkdir -p "$aside/$number"
    mount --rbind "$folder" "$aside/$number"
done
for folder in $closed; do
    mount -t tmpfs -o mode=755 none "$folder"
done
number=0
for folder in $needed; do
    number=$((number + 1))
    [ -n "$closed" ] || break
    mkdir -p "$folder"
    mount --rbind "$aside/$number" "$folder"
done
exec "$@"
"""


def command(folder: Path, *words: str) -> list[str]:
    """The command line that runs ``words`` as an ordinary user, who owns ``folder``."""
    if os.geteuid() != 0:
        return list(words)
    os.chown(folder, UID, UID)
    needed = [path for path in _needed() if _closed_above(path) is not None]
    closed = {str(_closed_above(path)) for path in needed}
    return [
        *("unshare", "--mount", "--propagation", "private", "sh", "-c", _ENTER, "sh"),
        *(str(folder / "aside"), " ".join(map(str, needed)), " ".join(sorted(closed))),
        *("setpriv", "--reuid", str(UID), "--regid", str(UID), "--clear-groups"),
        *("--inh-caps=-all", "--bounding-set=-all", "--no-new-privs", *words),
    ]


def missing(folder: Path) -> str | None:
    """The reason why no ordinary user can run programs here, or None."""
    if os.geteuid() == 0:
        for program in ("unshare", "setpriv"):
            if shutil.which(program) is None:
                return f"{program} of util-linux is not installed"
        for path in _needed():
            if not path.stat().st_mode & stat.S_IXOTH or " " in str(path):
                return f"{path} is closed to others, or has a blank in its name"
    done = subprocess.run(
        command(folder, sys.executable, "-c", "import sandbox.node"),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        return f"nothing runs as an ordinary user: {done.stderr.strip()[-300:]}"
    probe = ["bwrap", "--unshare-all", "--ro-bind", "/", "/", "true"]
    done = subprocess.run(command(folder, *probe), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return f"bubblewrap is not for ordinary users here: {done.stderr.strip()[-300:]}"
    return None


def _needed() -> tuple[Path, ...]:
    """Interpreter, environment and checkout; the last two also by their real paths."""
    named = (Path(sys.base_prefix), Path(sys.prefix), ROOT)
    return tuple(dict.fromkeys([*(path.resolve() for path in named)]))


def _closed_above(path: Path) -> Path | None:
    """The topmost parent folder that others may not enter."""
    for folder in reversed(path.parents):
        if not folder.stat().st_mode & stat.S_IXOTH:
            return folder
    return None
