"""What the node and the maker of images read of their environment.

Standard library only: importing pydantic-settings takes longer than importing the whole node.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class Settings:
    """Every field is ``PECK_<NAME>``; empty where the variable is not set."""

    node_runtime: str
    """The engine's runtime for boxes, as ``runsc``; empty for the engine's own."""
    python_image: str
    """The image that images of boxes are built from."""
    build_network: str
    """The engine's network through which a build reaches an index; empty for the engine's own."""
    torch_index: str
    """Address of an index, beside the usual one, that has the wheels of torch."""

    @classmethod
    def read(cls) -> Settings:
        names = (f"PECK_{field.name.upper()}" for field in fields(cls))
        return cls(*(os.environ.get(name, "").strip() for name in names))
