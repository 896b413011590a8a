"""Finds the database and the blobs of the site on this machine, for commands of its operator."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ladder.errors import LadderError
from ladder.settings import Settings
from services import embedded_servers

CHECKOUT: Final = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class SiteData:
    """Where a site keeps its data."""

    database_url: str
    blobs_url: str
    """Empty if the operator gave a database alone."""


def find_site_data(state: Path | None = None) -> SiteData:
    """The data that PECK_DATABASE_URL and PECK_BLOBS_URL name, else those of ``peck up``.

    Only the owner of the state folder can use it. Raises LadderError or EmbeddedError if there
    is none, or if it belongs to another user.
    """
    given = Settings()
    if given.database_url and state is None:
        return SiteData(given.database_url, given.blobs_url)
    folder = embedded_servers.locate_state_folder(CHECKOUT, state)
    if folder.exists() and folder.stat().st_uid != os.geteuid():
        raise LadderError(
            f"run this as the user who runs `peck up`: {folder} belongs to another user"
        )
    if not (folder / "passwords").exists():
        raise LadderError(
            "start `peck up` here, or name its folder with --state, or set PECK_DATABASE_URL: "
            f"{folder} has no database of `peck up`"
        )
    embedded_servers.refuse_earlier_format(folder)
    url = embedded_servers.postgres_url(folder, "peck")
    return SiteData(url, given.blobs_url or (folder / "blobs").as_uri())
