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
from functools import partial
from pathlib import Path
from typing import Any

from sandbox import profiles
from sandbox.errors import HostFault
from sandbox.launchers import docker, docker_images
from sandbox.process_guard import print_line
from sandbox.profiles import Profile
from sandbox.settings import Settings

LAUNCHERS = ("docker", "bubblewrap")
NO_ENGINE = "no Docker engine answers"
_print_error = partial(print_line, "images")


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
        _print_error(str(fault))
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
    engine = _find_engine() if options.launcher == "auto" else None
    if options.launcher == "docker":
        engine = _connect_engine()
    rows = []
    for name in options.profile or profiles.BY_ITSELF:
        profile = profiles.get_profile(name)
        if engine is not None:
            wheels = docker_images.WheelSource(options.index_url, options.find_links, is_loud=True)
            docker_images.build_image(engine, profile, _print_error, wheels)
            rows.append(_image_row(profile, engine))
            continue
        if profile.lock and profiles.installed_libraries(profile, options.state_dir) is None:
            profiles.install_libraries(
                profile,
                options.state_dir,
                _print_error,
                index_url=options.index_url,
                find_links=options.find_links,
                is_loud=True,
            )
        rows.append(_library_row(profile, options.state_dir))
    return rows


def list_profiles(options: argparse.Namespace) -> list[ProfileRow]:
    """Every profile for every launcher of this machine."""
    engine, served = _find_engine(), profiles.PROFILES.values()
    rows = [_image_row(profile, engine) for profile in served]
    return rows + [_library_row(profile, options.state_dir) for profile in served]


def prune_images(options: argparse.Namespace) -> list[ProfileRow]:
    """Remove images of earlier programs that no container uses."""
    engine = _connect_engine()
    return [
        ProfileRow(image.profile, "docker", False, image.id, image.base, image.size_bytes)
        for image in docker_images.stale_images(engine)
        if docker_images.remove_image(engine, image)
    ]


def _image_row(profile: Profile, engine: Any) -> ProfileRow:
    if engine is None:
        return ProfileRow(profile.name, "docker", False, NO_ENGINE)
    image_id = docker_images.find_image(engine, profile)
    for image in docker_images.list_images(engine):
        if image.id == image_id:
            return ProfileRow(profile.name, "docker", True, image.id, image.base, image.size_bytes)
    return ProfileRow(profile.name, "docker", False, _build_remedy(profile))


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
    return docker.connect_engine(docker_images.BUILD_SECONDS)[0]


def _find_engine() -> Any:
    """A client of the engine; None if no engine answers."""
    try:
        return _connect_engine()
    except HostFault:
        return None


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
    build = verbs.add_parser("build", parents=[shared], help="build a profile")
    build.add_argument("--profile", action="append", choices=list(profiles.PROFILES))
    build.add_argument("--launcher", choices=("auto", *LAUNCHERS), default="auto")
    build.add_argument(
        "--index-url",
        default=Settings.read().torch_index or None,
        help="an index beside pip's own; default: $PECK_TORCH_INDEX",
    )
    build.add_argument("--find-links", type=Path, help="a folder of wheels")
    build.set_defaults(act=build_profiles)
    verbs.add_parser("list", parents=[shared], help="what is built here").set_defaults(
        act=list_profiles
    )
    verbs.add_parser(
        "prune", parents=[shared], help="remove images of earlier programs"
    ).set_defaults(act=prune_images)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
