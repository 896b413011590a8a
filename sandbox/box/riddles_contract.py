"""The child's side of the contract *riddles*: riddles.io's text protocol, for GOLAD.

The program gets the settings before its first move and the updates before each move. Then comes
``action move BANK`` with the milliseconds it has. It answers with one line: ``pass``, ``kill x,y``,
``birth x,y a,b c,d``, or ``no_moves`` for a pass. Output before the question is dropped. If several
lines come together, the last one counts.
"""

from __future__ import annotations

from typing import Any

from .agent_program import AgentProgram, ContractBroken
from .bundle_manifest import Manifest
from .lines_contract import program_environment

NEEDED = frozenset({"round", "width", "height", "max_rounds", "you", "field", "living"})


class RiddlesAgent:
    """An agent whose program speaks the text protocol."""

    def __init__(self, manifest: Manifest, agent_dir: str) -> None:
        self._manifest, self._agent_dir = manifest, agent_dir
        self._program: AgentProgram | None = None
        self._clock: dict[str, float] = {}
        self._has_settings = False

    def start(self, told: dict[str, Any]) -> None:
        """Start the program. It gets no message before the first question."""
        self._clock = told["clock"]
        self._program = AgentProgram(
            self._manifest, self._agent_dir, program_environment(), talks=True
        )

    def move(self, observation: dict[str, Any]) -> Any:
        """Return the line that the program answers."""
        if not observation.keys() >= NEEDED:
            raise ContractBroken(
                "contract riddles is only for GOLAD; use callable or lines for this game",
                is_gone=True,
            )
        program = self._program
        assert program is not None
        program.unasked()
        free = self._clock["act_seconds"]
        bank_ms = round(1000 * (free + observation["remainingOverageTime"]))
        words = [] if self._has_settings else self._settings(observation)
        self._has_settings = True
        words += build_update_lines(observation)
        program.write_stdin("\n".join([*words, f"action move {bank_ms}", ""]))
        lines = [program.line(), *program.unasked().split(b"\n")[:-1]]
        line = lines[-1].decode("utf-8", "replace").strip()
        return "pass" if line == "no_moves" else line

    def end(self, observation: dict[str, Any]) -> None:
        """Nothing: the contract has no end message."""

    def _settings(self, seen: dict[str, Any]) -> list[str]:
        clock, you = self._clock, seen["you"]
        a_move_ms = round(1000 * (clock["act_seconds"] + clock["increment_seconds"]))
        return [
            "settings player_names player0,player1",
            f"settings your_bot player{you}",
            f"settings timebank {round(1000 * (clock['act_seconds'] + clock['bank_seconds']))}",
            f"settings time_per_move {a_move_ms}",
            f"settings your_botid {you}",
            f"settings field_width {seen['width']}",
            f"settings field_height {seen['height']}",
            f"settings max_rounds {seen['max_rounds']}",
        ]


def build_update_lines(seen: dict[str, Any]) -> list[str]:
    """The lines that the program gets before each move."""
    lines = [f"update game round {seen['round']}", f"update game field {seen['field']}"]
    for player, count in enumerate(seen["living"]):
        lines.append(f"update player{player} living_cells {count}")
        if player != seen["you"]:
            lines.append(f"update player{player} move {seen.get('opponent_move') or 'null'}")
    return lines
