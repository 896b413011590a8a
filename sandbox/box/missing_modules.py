"""Suggests a remedy if an agent imports a module that its box lacks."""

from __future__ import annotations

import importlib.util

PROFILE_OF = {
    "numpy": "numpy",
    **dict.fromkeys(("scipy", "numba", "llvmlite", "pandas", "sklearn", "joblib"), "science"),
    **dict.fromkeys(("lightgbm", "onnxruntime", "google"), "science"),
    "torch": "torch",
    "sympy": "torch",
    "networkx": "torch",
}
"""The smallest profile that has the module."""
ONLY_IN = {"pandas": "science", "torch": "torch"}
"""Modules of two profiles, neither of which contains the other."""


def import_remedy(error: BaseException | None) -> str:
    """How to get the missing module. Empty for any other error."""
    if not isinstance(error, ModuleNotFoundError) or not isinstance(error.name, str):
        return ""
    name = error.name
    if "." in name or not name.isidentifier():
        return ""  # the library exists, or it is no library
    bundle = f"put it into your folder (for a library, `pip install --target FOLDER {name}`)"
    profile = PROFILE_OF.get(name)
    if profile is None:
        return f"{name} is in no profile: {bundle}"
    lost = [module for module in ONLY_IN if ONLY_IN[module] != profile and _is_installed(module)]
    if lost and profile in ONLY_IN.values():
        return (
            f"{name} is in the profile {profile}, which lacks {lost[0]}: {bundle},"
            f" or add --profile {profile} if you do not need {lost[0]}"
        )
    return f"{name} is in the profile {profile}: add --profile {profile}"


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except Exception:  # the agent's own importers take part
        return False
