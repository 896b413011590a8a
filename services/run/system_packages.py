"""Finds system programs, and installs missing ones or names the command to type.

``python -m services.run.system_packages bubblewrap chromium-headless-shell,chromium`` checks each
program; of several after one another the first that can be had. Exits with 1 only under CI=true.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from glob import glob

MANAGERS = {
    "apt-get": ("apt-get", "install", "-y", "--no-install-recommends"),
    "dnf": ("dnf", "install", "-y"),
    "apk": ("apk", "add"),
    "pacman": ("pacman", "-S", "--noconfirm"),
    "zypper": ("zypper", "--non-interactive", "install"),
}
# Playwright's driver needs libatomic, which a small Debian lacks.
ATOMIC = ("libatomic1", "/usr/lib/*/libatomic.so.1")
ALONGSIDE = {
    ("apt-get", "chromium"): ATOMIC,
    ("apt-get", "chromium-headless-shell"): ATOMIC,
}
PROGRAMS = {
    "bubblewrap": ("bwrap",),
    # Chromium without windows: a page takes a third of the processor time.
    "chromium-headless-shell": ("chromium-headless-shell",),
    "chromium": ("chromium", "chromium-browser", "google-chrome"),
}


class PackageError(Exception):
    """A program is missing and was not installed. The message holds the command to type."""


@dataclass(frozen=True)
class PackageManager:
    """The system's package manager: its install command without the package."""

    command: tuple[str, ...]

    def packages(self, package: str) -> tuple[str, ...]:
        """The packages to install for a program with this manager."""
        return (package, *ALONGSIDE.get((self.command[0], package), ())[:1])

    def install_command(self, package: str) -> str:
        words = " ".join((*self.command, *self.packages(package)))
        return words if os.geteuid() == 0 else f"sudo {words}"


def package_manager() -> PackageManager | None:
    """The first package manager of this machine."""
    for program, command in MANAGERS.items():
        if shutil.which(program):
            return PackageManager(command)
    return None


def is_installed(package: str) -> bool:
    """Whether one of the package's programs is on PATH, with the library it needs."""
    manager = package_manager()
    alongside = ALONGSIDE.get((manager.command[0], package)) if manager else None
    if alongside is not None and not glob(alongside[1]):
        return False
    return any(shutil.which(program) for program in PROGRAMS[package])


def install_package(package: str, *, allowed: bool, say: Callable[[str], None]) -> None:
    """Installs ``package`` if it is missing. Prints the command before running it.

    Raises PackageError with the command if we are not root, are not allowed, or it fails.
    """
    if is_installed(package):
        return
    manager = package_manager()
    if manager is None:
        raise PackageError(f"install {package} with your package manager: it is missing")
    line = manager.install_command(package)
    if not allowed or os.geteuid() != 0:
        raise PackageError(f"type: {line} ({package} is missing)")
    say(f"running: {line}")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    if manager.command[0] == "apt-get":
        subprocess.run(("apt-get", "update", "-qq"), env=environment, check=False)
    result = subprocess.run(
        (*manager.command, *manager.packages(package)),
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if not is_installed(package):
        raise PackageError(f"could not install {package}: {result.stderr.strip()[-500:]}")


def main() -> int:
    missing = 0
    for packages in sys.argv[1:]:
        try:
            install_first(packages.split(","))
        except PackageError as error:
            print(f"peck: {error}", file=sys.stderr)
            missing += 1
    return 1 if missing and os.environ.get("CI") == "true" else 0


def install_first(packages: Sequence[str]) -> None:
    """Installs the first of these packages that can be had. Raises PackageError for the last."""
    for package in packages:
        try:
            install_package(
                package, allowed=True, say=lambda text: print(f"peck: {text}", flush=True)
            )
            return
        except PackageError:
            if package == packages[-1]:
                raise


if __name__ == "__main__":
    sys.exit(main())
