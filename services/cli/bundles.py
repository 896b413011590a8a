"""Packs a file or folder for upload."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

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
                [one for one in bundle_file_names(path) if "/." in f"/{one}"]
                if path != file
                else []
            )
        except BundleError as error:
            raise MissingInput(str(error)) from None
        if hidden:
            more = f" and {len(hidden) - MOST_NAMES} more" if len(hidden) > MOST_NAMES else ""
            stderr.print(
                "Check the upload for secrets: it holds hidden files: "
                f"{', '.join(hidden[:MOST_NAMES])}{more}"
            )
        yield (path.name if file == path else f"{path.resolve().name}.tar.gz"), file
