"""The remedy for a module that an agent imports and its box does not have."""

from __future__ import annotations

PROFILE_OF = {
    "numpy": "numpy",
    **dict.fromkeys(("scipy", "numba", "llvmlite", "pandas", "sklearn", "joblib"), "science"),
    **dict.fromkeys(("lightgbm", "onnxruntime", "google"), "science"),
    "torch": "torch",
    "sympy": "torch",
    "networkx": "torch",
}
"""The smallest profile that has a module, by the module's name."""


def remedy(error: BaseException | None) -> str:
    """How to get the module that was not found; empty for any other error."""
    if not isinstance(error, ModuleNotFoundError) or not isinstance(error.name, str):
        return ""
    name = error.name
    if "." in name or not name.isidentifier():
        return ""  # the library is there, or it is not a library
    if name in PROFILE_OF:
        return f"{name} is in the profile {PROFILE_OF[name]}: add --profile {PROFILE_OF[name]}"
    return (
        f"{name} is in no profile: put it into your folder (for a library,"
        f" `pip install --target FOLDER {name}`)"
    )
