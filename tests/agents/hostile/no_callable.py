"""A file in which nothing can be called."""

from typing import Any

from tests.agents.hostile import kit

del Any, kit
answer = "EAST"
