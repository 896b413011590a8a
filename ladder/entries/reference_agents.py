"""Reference agents as they lie in ``agents/``, each folder as the file that would be uploaded.

Python wants underscores in the folders' names; people see hyphens and may type both.
"""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Final

AGENTS: Final = Path(__file__).resolve().parents[2] / "agents"
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
"""Names by game, in the order in which seasons take them; those left out come after."""
TITLES: Final = {("snake", "cycle"): "Hamiltonian Cycle"}
"""By game and name, where the title is not the name itself."""


def agent_names(game: str) -> list[str]:
    """The reference agents that this game has, in order of their names."""
    found = {file.parent.name for name in ENTRANCES for file in (AGENTS / game).glob(f"*/{name}")}
    return sorted(map(canonical_name, found))


def agents_in_preferred_order(game: str) -> list[str]:
    """The same, those of ``FIRST`` first."""
    found = agent_names(game)
    return list(dict.fromkeys([*(name for name in FIRST.get(game, ()) if name in found), *found]))


def title_of(game: str, name: str) -> str:
    """What people call the reference agent of this name: ``Random Legal``."""
    return TITLES.get((game, canonical_name(name)), canonical_name(name).replace("-", " ").title())


def canonical_name(name: str) -> str:
    """The one name of a reference agent: ``a-b`` for ``a-b``, ``a_b`` and ``A B``."""
    return name.lower().replace("_", "-").replace(" ", "-")


def folder_of(name: str) -> str:
    """The folder of the reference agent with this name."""
    return canonical_name(name).replace("-", "_")


def read_bundle(game: str, name: str) -> tuple[str, bytes]:
    """File name and bytes of one of ``agent_names``: its only file as it is, else a zip of all.

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
