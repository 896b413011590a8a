"""Making an upload of what a person points at."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from sandbox.match.bundle import BundleError, bundle_file_names, prepare_bundle
from services.cli.display import stderr
from services.cli.saved_login import MissingInput

MOST_NAMES: Final = 5
"""Of hidden files in one line."""


@contextmanager
def pack(path: Path) -> Iterator[tuple[str, Path]]:
    """The name and the file to upload: a file as it is, a folder as ``.tar.gz``.

    The file of a folder is removed at the end. Raises Unset for what is no agent.
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
            stderr.print(f"the upload holds hidden files: {', '.join(hidden[:MOST_NAMES])}{more}")
        yield (path.name if file == path else f"{path.resolve().name}.tar.gz"), file
