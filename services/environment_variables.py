"""The environment variables of the command line.

Uses only the standard library: a client has no pydantic-settings, and its import takes time.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Final

CHECKOUT: Final = Path(__file__).resolve().parents[1]
"""The folder of this installation."""


@dataclass(frozen=True, slots=True)
class Environment:
    """Every field is ``PECK_<NAME>``. Empty if the variable is not set."""

    url: str
    """Address of the service."""
    token: str
    """Token for the service."""
    password: str
    """Password for `peck sign-up`."""
    state: str
    """Folder for all data of `peck up`."""
    games: str
    """Files of external games, with commas between."""
    proxy_addresses: str
    """Addresses from which a proxy reaches `peck up`, with commas between."""

    @classmethod
    def read(cls) -> Environment:
        return cls(*(os.environ.get(f"PECK_{field.name.upper()}", "") for field in fields(cls)))
