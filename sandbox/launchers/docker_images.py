"""Makes, finds, lists and removes the images of boxes in a Docker engine. Imports ``docker``.

An image's name covers everything in it. So a changed lock or program is another image, and nobody
must remember to rebuild. ``PECK_PYTHON_IMAGE`` pins its base and a label records it.

If the base is missing and cannot be pulled, or its build reaches no index, ``docker import`` makes
the image from this machine's interpreter. It has the same files and needs no registry.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import secrets
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docker
import docker.errors

from sandbox import profiles
from sandbox.errors import HostFault
from sandbox.profiles import Profile, Say
from sandbox.settings import Settings

_IMAGES = Path(__file__).parents[2] / "deploy" / "images"
_DOCKERFILE, _ROOT_FILESYSTEM = _IMAGES / "box.Dockerfile", _IMAGES / "root_filesystem.py"
BASE = "python:3.11-slim"
BOX_LABEL = "pecking-order.box"
BASE_LABEL = "pecking-order.base"
_STAGE_LABEL = "pecking-order.stage"
_PATH = "PATH=/peck/python/bin"
BUILD_SECONDS = 1800
_TROUBLE = (docker.errors.DockerException, OSError)


@dataclass(frozen=True)
class WheelSource:
    """Where a build takes libraries from besides the usual index, and how much it prints."""

    index_url: str | None = None
    find_links: Path | None = None
    is_loud: bool = False
    """Whether to print each step."""


@dataclass(frozen=True)
class BoxImage:
    id: str
    tags: tuple[str, ...]
    profile: str
    base: str
    size_bytes: int


def image_tag(profile: Profile) -> str:
    """The name of the image that the present program needs for this profile."""
    recipe = (_DOCKERFILE.read_bytes(), _ROOT_FILESYSTEM.read_bytes())
    return f"peck-box-{profile.name}:{profiles.content_digest(profile, *recipe)[:16]}"


def find_image(engine: Any, profile: Profile) -> str | None:
    """The id of the profile's image. None if it is not built. Raises HostFault if the engine
    fails.
    """
    tag = image_tag(profile)
    try:
        return str(engine.images.get(tag).id)
    except docker.errors.ImageNotFound:
        return None
    except _TROUBLE as error:
        raise HostFault(f"image {tag} cannot be looked up: {error}") from None


def build_image(
    engine: Any, profile: Profile, say: Say, wheels: WheelSource = WheelSource()
) -> str:
    """Build the profile's image again. Returns its id. HostFault says what was tried."""
    tag = image_tag(profile)
    say(f"building image {tag} (once)")
    try:
        base = _base_image(engine, say)
        _build_from_base(engine, profile, tag, base, say, wheels)
    except HostFault as fault:
        say(f"{fault}; this machine's own interpreter is used instead")
        try:
            _import_own_interpreter(engine, profile, tag, say, wheels)
        except HostFault as second:
            raise HostFault(f"image {tag} cannot be built: {fault}; {second}") from None
    image = find_image(engine, profile)
    if image is None:
        raise HostFault(f"image {tag} was built but cannot be found")
    return image


def list_images(engine: Any) -> list[BoxImage]:
    """List all our images, also those of earlier programs."""
    try:
        images = engine.images.list(filters={"label": BOX_LABEL})
    except _TROUBLE as error:
        raise HostFault(f"the engine cannot list images: {error}") from None
    return [
        BoxImage(
            id=str(image.id),
            tags=tuple(image.tags),
            profile=image.labels[BOX_LABEL],
            base=image.labels.get(BASE_LABEL, ""),
            size_bytes=int(image.attrs.get("Size", 0)),
        )
        for image in images
    ]


def stale_images(engine: Any) -> list[BoxImage]:
    """Images of earlier programs or of other checkouts."""
    tags = {image_tag(profile) for profile in profiles.PROFILES.values()}
    return [image for image in list_images(engine) if tags.isdisjoint(image.tags)]


def remove_image(engine: Any, image: BoxImage) -> bool:
    """Remove an image that no container uses. Returns whether it is gone."""
    try:
        if engine.containers.list(all=True, filters={"ancestor": image.id}):
            return False
        for name in image.tags or (image.id,):
            engine.images.remove(name)
    except docker.errors.APIError:
        return False  # a container has just started to use it
    except _TROUBLE as error:
        raise HostFault(f"image {image.id} cannot be removed: {error}") from None
    return True


def _base_image(engine: Any, say: Say) -> Any:
    """Return the image that boxes are built from. Pulls it if it is missing."""
    name = Settings.read().python_image or BASE
    try:
        return engine.images.get(name)
    except docker.errors.ImageNotFound:
        say(f"pulling {name}")
    except _TROUBLE as error:
        raise HostFault(f"image {name} cannot be looked up: {error}") from None
    try:
        return engine.images.pull(name)
    except _TROUBLE as error:
        raise HostFault(
            f"image {name} is missing and cannot be pulled: {_last_error_line(error)}"
        ) from None


def _build_from_base(
    engine: Any, profile: Profile, tag: str, base: Any, say: Say, wheels: WheelSource
) -> None:
    held = _locked_wheels(profile, wheels.find_links)
    stage = secrets.token_hex(8)
    arguments = {
        "PYTHON_IMAGE": str(base.id),
        "STAGE": stage,
        "PIP_INDEX_URL": os.environ.get("PIP_INDEX_URL", ""),
        "PIP_EXTRA_INDEX_URL": wheels.index_url or "",
    }
    network = Settings.read().build_network or None
    if len(held) >= len(profile.versions):
        arguments["PIP_NO_INDEX"], network = "1", "none"
    lines: list[str] = []
    try:
        with tempfile.TemporaryFile() as context:
            _write_build_context(profile, held, context)
            answers = engine.api.build(
                fileobj=context,
                custom_context=True,
                tag=tag,
                rm=True,
                forcerm=True,
                decode=True,
                timeout=BUILD_SECONDS,
                buildargs=arguments,
                network_mode=network,
                labels=_image_labels(profile, _image_digest(base)),
            )
            for answer in answers:
                lines.append(str(answer.get("stream") or answer.get("error") or "").strip())
                if wheels.is_loud and lines[-1].startswith("Step "):
                    say(lines[-1].partition("\n")[0][:100])
                if "error" in answer:
                    tail = " ".join([line for line in lines if line][-3:])
                    raise HostFault(f"the engine's build failed: {tail}")
    except _TROUBLE as error:
        raise HostFault(f"the engine's build failed: {_last_error_line(error)}") from None
    finally:
        _remove_build_stage(engine, stage)


def _import_own_interpreter(
    engine: Any, profile: Profile, tag: str, say: Say, wheels: WheelSource
) -> None:
    """Make an image of this machine's own interpreter and the libraries it is linked to."""
    with tempfile.TemporaryDirectory(prefix="peck-image-") as scratch:
        root, packed = Path(scratch) / "root", Path(scratch) / "root.tar"
        root.mkdir()
        command = [sys.executable, str(_ROOT_FILESYSTEM), "--out", str(root)]
        command += ["--box", str(profiles.BOX_PROGRAM)]
        if profile.lock is not None:
            libraries = profiles.install_libraries(
                profile,
                Path(scratch),
                say,
                index_url=wheels.index_url,
                find_links=wheels.find_links,
                is_loud=wheels.is_loud,
            )
            command += ["--libraries", str(libraries)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise HostFault(f"no root could be assembled: {_last_error_line(done.stderr)}")
        with tarfile.open(packed, "w") as archive:
            archive.add(root, arcname=".", filter=_as_root)
        base = f"this machine: {sys.implementation.name} {sys.version.split()[0]}"
        labels = [f'LABEL {key}="{value}"' for key, value in _image_labels(profile, base).items()]
        name, _, version = tag.partition(":")
        try:
            answer = engine.api.import_image_from_file(
                str(packed),
                repository=name,
                tag=version,
                changes=[f"ENV {_PATH}", 'CMD ["python3", "-V"]', *labels],
            )
        except _TROUBLE as error:
            raise HostFault(f"the engine cannot import: {_last_error_line(error)}") from None
        if "error" in str(answer):
            raise HostFault(f"the engine cannot import: {_last_error_line(answer)}")


def _write_build_context(profile: Profile, held: Mapping[str, Path], context: Any) -> None:
    files = {f"box/{name}": content for name, content in profiles.program_files().items()}
    files["lock"] = profile.lock.read_bytes() if profile.lock else b""
    files["Dockerfile"] = _DOCKERFILE.read_bytes()
    files["root_filesystem.py"] = _ROOT_FILESYSTEM.read_bytes()
    with tarfile.open(fileobj=context, mode="w") as archive:
        folder = tarfile.TarInfo("wheels")
        folder.type, folder.mode = tarfile.DIRTYPE, 0o755
        archive.addfile(folder)
        for name, content in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o644
            archive.addfile(entry, io.BytesIO(content))
        for name, path in sorted(held.items()):
            archive.add(path, arcname=f"wheels/{name}", recursive=False)
    context.seek(0)


def _locked_wheels(profile: Profile, folder: Path | None) -> dict[str, Path]:
    if folder is None:
        return {}
    wheels = {}
    for path in sorted(folder.glob("*.whl")):
        with path.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() in profile.hashes:
                wheels[path.name] = path
    return wheels


def _image_labels(profile: Profile, base: str) -> dict[str, str]:
    return {BOX_LABEL: profile.name, BASE_LABEL: base}


def _image_digest(base: Any) -> str:
    """A registry's digest of this image, or else the engine's own id."""
    digests = base.attrs.get("RepoDigests") or [base.id]
    return str(digests[0])


def _remove_build_stage(engine: Any, stage: str) -> None:
    with contextlib.suppress(*_TROUBLE):
        mine = {"label": f"{_STAGE_LABEL}={stage}", "dangling": True}
        for image in engine.images.list(filters=mine):
            engine.images.remove(image.id)


def _as_root(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = "root"
    return entry


def _last_error_line(error: object) -> str:
    lines = str(error).strip().splitlines() or [""]
    return lines[-1][:400]
