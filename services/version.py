"""The version of the service and of its command line."""

from __future__ import annotations

from typing import Final

VERSION: Final = "0.1.0"
