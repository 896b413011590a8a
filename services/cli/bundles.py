"""Packs a file or folder for upload."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from sandbox.box.bundle_manifest import MANIFEST_FILE, ContractError, read_manifest
from sandbox.match.bundle_packing import BundleError, bundle_file_names, prepare_bundle
from services.cli.display import stderr
from services.cli.saved_login import MissingInput

MOST_NAMES: Final = 5
"""Most hidden files named in one message."""


@contextmanager
def pack(path: Path) -> Iterator[tuple[str, Path]]:
    """Yields name and path of the upload: a file as it is, a folder as ``.tar.gz``.

    Removes the archive of a folder at the end. Raises MissingInput if the path cannot be an agent.
    """
    with tempfile.TemporaryDirectory(prefix="peck-") as scratch:
        try:
            file = prepare_bundle(path, Path(scratch))
            hidden = (
                [name for name in bundle_file_names(path) if "/." in f"/{name}"]
                if path != file
                else []
            )
        except BundleError as error:
            raise MissingInput(str(error)) from None
        if path != file:
            _check_program(path)
        if hidden:
            more = f" and {len(hidden) - MOST_NAMES} more" if len(hidden) > MOST_NAMES else ""
            stderr.print(
                "Check the upload for secrets: it holds hidden files: "
                f"{', '.join(hidden[:MOST_NAMES])}{more}"
            )
        yield (path.name if file == path else f"{path.resolve().name}.tar.gz"), file


def _check_program(folder: Path) -> None:
    """Raises MissingInput if the folder's peck.json is wrong, or starts a file that is missing.

    A validation would refuse it too, but later.
    """
    try:
        manifest = read_manifest(str(folder))
    except ContractError as error:
        raise MissingInput(f"{folder / MANIFEST_FILE}: {error}") from None
    if not (folder / manifest.program).is_file():
        raise MissingInput(
            f"{folder}: there is no file {manifest.program}, which {MANIFEST_FILE} starts;"
            f" add it, or correct {MANIFEST_FILE}"
        )
