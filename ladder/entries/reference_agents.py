"""Reads the reference agents in ``agents/`` and makes bundles of their folders.

The folders' names have underscores for Python. People see hyphens and may type either.
"""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Final

AGENTS: Final = Path(__file__).resolve().parents[2] / "agents"
TEAM_SLUG: Final = "reference-agents"
"""Slug of the team of the reference agents; a team of a person may force digits behind it."""
ENTRANCES: Final = ("main.py", "peck.json")
EPOCH: Final = (1980, 1, 1, 0, 0, 0)
FIRST: Final[dict[str, tuple[str, ...]]] = {
    "hungry_geese": (
        "random-legal",
        "greedy",
        "survivor",
        "numpy-heuristic",
        "convolutional",
        "searcher",
        "bank-spender",
    ),
    "battlesnake": ("safe-step", "grazer", "painter", "searcher"),
    "golad": ("random", "pass", "kill", "greedy-kills", "greedy", "search"),
    "snake": ("uniform", "cycle", "shortest-path", "cycle-repair", "rollouts"),
}
"""Names by game, in the order in which seasons take them; other names come later."""
TITLES: Final = {("snake", "cycle"): "Hamiltonian Cycle"}
"""Titles by game and name, where the title differs from the name."""


def agent_names(game: str) -> list[str]:
    """Names of the game's reference agents, in order."""
    names = {file.parent.name for name in ENTRANCES for file in (AGENTS / game).glob(f"*/{name}")}
    return sorted(map(canonical_name, names))


def agents_in_preferred_order(game: str) -> list[str]:
    """Names of the game's reference agents; those of ``FIRST`` come first."""
    names = agent_names(game)
    return list(dict.fromkeys([*(name for name in FIRST.get(game, ()) if name in names), *names]))


def title_of(game: str, name: str) -> str:
    """Returns the title of a reference agent, such as ``Random Legal``."""
    return TITLES.get((game, canonical_name(name)), canonical_name(name).replace("-", " ").title())


def canonical_name(name: str) -> str:
    """Returns the standard spelling of a name: ``a-b`` for ``a-b``, ``a_b`` and ``A B``."""
    return name.lower().replace("_", "-").replace(" ", "-")


def folder_of(name: str) -> str:
    """Returns the folder of a reference agent."""
    return canonical_name(name).replace("-", "_")


def read_bundle(game: str, name: str) -> tuple[str, bytes]:
    """Returns file name and bytes: the only file of the folder, else a zip of all files.

    Equal folders give equal bytes, so an agent is one submission in all leagues.
    """
    folder = AGENTS / game / folder_of(name)
    files = [
        file
        for file in sorted(folder.rglob("*"))
        if file.is_file() and "__pycache__" not in file.parts
    ]
    if [file.name for file in files] == ["main.py"]:
        return "main.py", files[0].read_bytes()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for file in files:
            member = zipfile.ZipInfo(file.relative_to(folder).as_posix(), EPOCH)
            member.external_attr = (0o755 if file.stat().st_mode & 0o100 else 0o644) << 16
            archive.writestr(member, file.read_bytes())
    return f"{folder.name}.zip", packed.getvalue()
