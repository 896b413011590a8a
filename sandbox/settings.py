"""The environment variables of the node and of the maker of images, and names of launchers.

Standard library only: importing pydantic-settings takes longer than importing the whole node.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from enum import StrEnum


class LauncherName(StrEnum):
    """The program that creates sandboxes."""

    AUTO = "auto"
    """Docker if an engine answers, else bubblewrap."""
    DOCKER = "docker"
    BUBBLEWRAP = "bubblewrap"


@dataclass(frozen=True, slots=True)
class Settings:
    """Every field is ``PECK_<NAME>``, empty if the variable is not set."""

    node_runtime: str
    """The engine's runtime for boxes, such as ``runsc``. Empty for the engine's default."""
    python_image: str
    """Base image of the images of boxes."""
    build_network: str
    """The engine's network through which a build reaches an index. Empty for the engine's default.
    """
    torch_index: str
    """Address of an additional index that has the wheels of torch."""

    @classmethod
    def read(cls) -> Settings:
        names = (f"PECK_{field.name.upper()}" for field in fields(cls))
        return cls(*(os.environ.get(name, "").strip() for name in names))
