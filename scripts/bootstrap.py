"""Installs .venv from the hashed locks after changes, then becomes the requested command.

Run by ./peck; uses only the standard library. With ``test`` as first word it also installs the test
tools and becomes scripts/suite, or scripts/test if more arguments follow.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
VENV = CHECKOUT / ".venv"
PYTHON = VENV / "bin" / "python"


def say(text: str) -> None:
    print(f"peck: {text}", file=sys.stderr, flush=True)


def run(command: list[str], failure: str) -> None:
    """Runs a command quietly. On failure shows the end of its output and ``failure``, and exits."""
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if result.returncode != 0:
        print("\n".join(result.stdout.splitlines()[-15:]), file=sys.stderr)
        say(failure)
        sys.exit(1)


def is_complete(python: Path) -> bool:
    """Whether an environment exists and is complete. An interrupted one has no pip."""
    check = [str(python), "-I", "-c", "import pip"]
    return python.exists() and subprocess.run(check, capture_output=True).returncode == 0


def make_environment() -> None:
    """Creates .venv, also on systems that package ensurepip separately."""
    if is_complete(PYTHON):
        return
    say(f"creating .venv with Python {sys.version.split()[0]}")
    shutil.rmtree(VENV, ignore_errors=True)
    base = getattr(sys, "_base_executable", sys.executable) or sys.executable
    if importlib.util.find_spec("ensurepip") is not None:
        made = subprocess.run([base, "-m", "venv", str(VENV)], capture_output=True)
        if made.returncode == 0:
            return
    package = f"python{sys.version_info[0]}.{sys.version_info[1]}-venv"
    line = ["apt-get", "install", "-y", package]
    if os.geteuid() != 0 or shutil.which("apt-get") is None or "--no-install" in sys.argv:
        say(f"type: sudo {' '.join(line)}, because this Python has no venv module")
        sys.exit(1)
    say(f"running: {' '.join(line)}")
    subprocess.run(["apt-get", "update", "-qq"], check=False, stdout=sys.stderr)
    run(line, f"could not install {package}")
    shutil.rmtree(VENV, ignore_errors=True)
    run([base, "-m", "venv", str(VENV)], "could not create .venv")


def mark_of(lock: str) -> tuple[Path, str]:
    """The file that names the installed lock, and its content for the present lock."""
    return VENV / f".{lock}.sha256", hashlib.sha256((CHECKOUT / lock).read_bytes()).hexdigest()


def install(lock: str, *options: str) -> None:
    """Installs a lock if it changed since the last time."""
    text = (CHECKOUT / lock).read_bytes()
    mark, digest = mark_of(lock)
    if mark.exists() and mark.read_text() == digest:
        return
    count = sum(b"==" in line and not line.startswith(b" ") for line in text.splitlines())
    say(f"installing {count} packages of {lock} (once; about a minute)")
    run(
        [
            *(str(PYTHON), "-I", "-m", "pip", "install", "--quiet", "--require-hashes"),
            *("--disable-pip-version-check", "--no-input", "--no-compile", *options),
            *("-r", str(CHECKOUT / lock)),
        ],
        f"read pip's last lines above: could not install {lock}",
    )
    compile_libraries()
    mark.write_text(digest)


def compile_libraries() -> None:
    """Compiles all libraries on all cores, because pip would use one. If that fails, Python
    compiles them later."""
    say("compiling the libraries")
    folders = [str(folder) for folder in VENV.glob("lib*/python*/site-packages")]
    command = [str(PYTHON), "-I", "-m", "compileall", "-q", "-q", "-j", "0", *folders]
    subprocess.run(command, capture_output=True, check=False)


def main() -> None:
    arguments = sys.argv[1:]
    testing = arguments[:1] == ["test"]
    with (CHECKOUT / ".venv.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # of two simultaneous first starts one waits
        make_environment()
        if testing:  # the lock of the test tools includes the runtime's
            install("requirements-dev.lock")
            mark, digest = mark_of("requirements.lock")
            mark.write_text(digest)
            install("requirements-peer.lock", "--no-deps")
        else:
            install("requirements.lock")
    inherited = os.environ.get("PYTHONPATH")
    path = str(CHECKOUT) + (os.pathsep + inherited if inherited else "")
    environment = {**os.environ, "PYTHONPATH": path}
    if testing:
        script = "test" if arguments[1:] else "suite"
        command = [str(CHECKOUT / "scripts" / script), *arguments[1:]]
    else:
        # -P: a folder of the user named "games" must not replace ours.
        command = [str(PYTHON), "-P", "-m", "services.cli", *arguments]
    os.execve(command[0], command, environment)  # noqa: S606


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
