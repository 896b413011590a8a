"""Command line for the profiles of a node.

``python -m sandbox.launchers.profile_cli build --profile torch`` builds a profile that nodes do not
build on their own. ``list`` shows what is built here. ``prune`` removes images of earlier programs.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sandbox import profiles
from sandbox.errors import HostFault
from sandbox.profiles import Profile
from sandbox.settings import Settings

LAUNCHERS = ("docker", "bubblewrap")


@dataclass(frozen=True)
class ProfileRow:
    """One profile and its state with one launcher."""

    profile: str
    launcher: str
    built: bool
    where: str
    """The image's id or the libraries' folder. If missing, what is missing, in words."""
    base: str | None = None
    size_bytes: int | None = None


def main(arguments: list[str] | None = None) -> int:
    """Run the command. Returns 0, or 1 with one line on stderr if something fails."""
    options = _parse_arguments(arguments)
    try:
        rows = options.act(options)
    except HostFault as fault:
        print(f"images: {fault}", file=sys.stderr)
        return 1
    if options.as_json:
        print(json.dumps([asdict(row) for row in rows], indent=2))
        return 0
    for row in rows:
        size = "" if row.size_bytes is None else f"  {row.size_bytes >> 20} MiB"
        base = "" if row.base is None else f"  base {row.base}"
        print(f"{row.profile:<10}  {row.launcher:<10}  {row.where}{size}{base}")
    if not rows:
        print("(nothing)")
    return 0


def build_profiles(options: argparse.Namespace) -> list[ProfileRow]:
    """Build each requested profile, even if it exists."""
    launcher = options.launcher
    if launcher == "auto":
        launcher = "docker" if _engine_or_none() is not None else "bubblewrap"
    made = []
    for name in options.profile or profiles.BY_ITSELF:
        profile = profiles.get_profile(name)
        if launcher == "docker":
            made.append(_build_image(profile, options))
        else:
            made.append(_install_libraries(profile, options))
    return made


def list_profiles(options: argparse.Namespace) -> list[ProfileRow]:
    """Every profile for every launcher of this machine."""
    rows = []
    for launcher in LAUNCHERS:
        for profile in profiles.PROFILES.values():
            rows.append(_find_profile(profile, launcher, options.state_dir))
    return rows


def prune_images(options: argparse.Namespace) -> list[ProfileRow]:
    """Remove images of earlier programs that no container uses."""
    from sandbox.launchers import docker_images

    found = _connect_engine()
    gone = [
        image
        for image in docker_images.stale_images(found)
        if docker_images.remove_image(found, image)
    ]
    return [
        ProfileRow(one.profile, "docker", False, one.id, one.base, one.size_bytes) for one in gone
    ]


def _build_image(profile: Profile, options: argparse.Namespace) -> ProfileRow:
    from sandbox.launchers import docker_images

    wheels = docker_images.WheelSource(options.index_url, options.find_links, is_loud=True)
    image_id = docker_images.build_image(_connect_engine(), profile, _print_error, wheels)
    return next(
        ProfileRow(profile.name, "docker", True, one.id, one.base, one.size_bytes)
        for one in docker_images.list_images(_connect_engine())
        if one.id == image_id
    )


def _install_libraries(profile: Profile, options: argparse.Namespace) -> ProfileRow:
    if (
        profile.lock is not None
        and profiles.installed_libraries(profile, options.state_dir) is None
    ):
        profiles.install_libraries(
            profile,
            options.state_dir,
            _print_error,
            index_url=options.index_url,
            find_links=options.find_links,
            is_loud=True,
        )
    return _find_profile(profile, "bubblewrap", options.state_dir)


def _find_profile(profile: Profile, launcher: str, state_dir: Path) -> ProfileRow:
    if launcher == "bubblewrap":
        return _library_row(profile, state_dir)
    found = _engine_or_none()
    if found is None:
        return ProfileRow(profile.name, launcher, False, "no Docker engine answers")
    from sandbox.launchers import docker_images

    image_id = docker_images.find_image(found, profile)
    for image in docker_images.list_images(found):
        if image.id == image_id:
            return ProfileRow(profile.name, launcher, True, image.id, image.base, image.size_bytes)
    return ProfileRow(profile.name, launcher, False, _build_remedy(profile))


def _library_row(profile: Profile, state_dir: Path) -> ProfileRow:
    if shutil.which("bwrap") is None:
        return ProfileRow(profile.name, "bubblewrap", False, "bubblewrap is not installed")
    if profile.lock is None:
        return ProfileRow(profile.name, "bubblewrap", True, "needs no libraries")
    folder = profiles.installed_libraries(profile, state_dir)
    if folder is None:
        return ProfileRow(profile.name, "bubblewrap", False, _build_remedy(profile))
    size_bytes = sum(path.lstat().st_size for path in folder.rglob("*"))
    return ProfileRow(profile.name, "bubblewrap", True, str(folder), None, size_bytes)


def _build_remedy(profile: Profile) -> str:
    if profile.on_command:
        command = f"python -m sandbox.launchers.profile_cli build --profile {profile.name}"
        return f"not built here; type: {command}"
    return "not built here; a node builds it when it starts"


def _connect_engine() -> Any:
    import docker
    import docker.errors

    from sandbox.launchers import docker_images

    try:
        client = docker.from_env(timeout=docker_images.BUILD_SECONDS)
        client.ping()
    except (docker.errors.DockerException, OSError) as error:
        raise HostFault(f"no Docker engine answers: {error}") from None
    return client


def _engine_or_none() -> Any:
    try:
        return _connect_engine()
    except HostFault:
        return None


def _print_error(line: str) -> None:
    print(f"images: {line}", file=sys.stderr, flush=True)


def _parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m sandbox.launchers.profile_cli", description=__doc__
    )
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--json", action="store_true", dest="as_json")
    shared.add_argument(
        "--state-dir",
        type=Path,
        default=profiles.cache_dir(),
        help="libraries for bubblewrap; default: %(default)s, where every node of this user looks",
    )
    one = verbs.add_parser("build", parents=[shared], help="build a profile")
    one.add_argument("--profile", action="append", choices=list(profiles.PROFILES))
    one.add_argument("--launcher", choices=("auto", *LAUNCHERS), default="auto")
    one.add_argument(
        "--index-url",
        default=Settings.read().torch_index or None,
        help="an index beside pip's own; default: $PECK_TORCH_INDEX",
    )
    one.add_argument("--find-links", type=Path, help="a folder of wheels")
    one.set_defaults(act=build_profiles)
    verbs.add_parser("list", parents=[shared], help="what is built here").set_defaults(
        act=list_profiles
    )
    verbs.add_parser(
        "prune", parents=[shared], help="remove images of earlier programs"
    ).set_defaults(act=prune_images)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
