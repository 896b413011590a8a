"""The child's side of the contract *lines*: one JSON line to the program, one line back.

The program first gets ``{"type": "start", "configuration": ..., "seed": ...}`` and does not answer.
Each move is ``{"type": "move", "observation": ...}``. Output before a question is an answer too
early. Output after the answer is a second answer.
"""

from __future__ import annotations

import json
import os
from typing import Any

from .agent_program import AgentProgram, ContractBroken
from .bundle_manifest import Manifest


class LinesAgent:
    """An agent whose program reads and writes lines."""

    def __init__(self, manifest: Manifest, agent_dir: str) -> None:
        self._manifest, self._agent_dir = manifest, agent_dir
        self._program: AgentProgram | None = None

    def start(self, told: dict[str, Any]) -> None:
        """Start the program and send it the start message."""
        self._program = AgentProgram(
            self._manifest, self._agent_dir, program_environment(), talks=True
        )
        start = {"type": "start", "configuration": told["configuration"], "seed": told["seed"]}
        self._program.write_stdin(json_line(start) + "\n")

    def move(self, observation: dict[str, Any]) -> Any:
        """Return the program's answer."""
        program = self._program
        assert program is not None
        said = program.unasked()
        if said:
            raise ContractBroken(
                f"it wrote {printable(said)} before it was asked; write one line for each line of "
                'type "move", and nothing after type "start"'
            )
        program.write_stdin(json_line({"type": "move", "observation": observation}) + "\n")
        line = program.line()
        said = program.unasked()
        if said:
            raise ContractBroken(
                f"it wrote {printable(said)} after its answer; write one line a question"
            )
        try:
            return json.loads(line)
        except (ValueError, RecursionError):
            raise ContractBroken(
                f"the line {printable(line)} is no JSON text; write the move as JSON, for example "
                '"NORTH" with its quotes',
                is_invalid=True,
            ) from None

    def end(self, observation: dict[str, Any]) -> None:
        """Nothing: the contract has no end message."""


def program_environment() -> dict[str, str]:
    """A program's environment: a copy of the child's own."""
    return dict(os.environ)


def json_line(value: Any) -> str:
    """Encode as one line of JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def printable(said: bytes) -> str:
    """Make bytes of the program safe for a message."""
    text = said[:61].decode("utf-8", "replace")
    return repr(text if len(text) <= 60 else text[:57] + "...")
