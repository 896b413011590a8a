"""What the command line reads of its environment.

Standard library only: a client has no pydantic-settings, and waits for no import of it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class Environment:
    """Every field is ``PECK_<NAME>``; empty where the variable is not set."""

    url: str
    """Address of the service."""
    token: str
    """Token to use there."""
    state: str
    """Folder where `peck up` keeps everything that must survive a restart."""
    games: str
    """Files of games from outside the tree, with commas between."""

    @classmethod
    def read(cls) -> Environment:
        return cls(*(os.environ.get(f"PECK_{field.name.upper()}", "") for field in fields(cls)))
