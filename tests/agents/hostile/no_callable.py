"""Contains nothing callable."""

from typing import Any

from tests.agents.hostile import kit

del Any, kit
answer = "EAST"
