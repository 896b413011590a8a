"""The part of kaggle_environments 1.33.2 that agents import, written anew for a box.

Agents made for Kaggle take types and small functions from that package, which itself needs more
disk than a box has. Here are the same names with the same behaviour, on the standard library alone.
What would start a game of its own can be imported too, and says when called why it cannot be had.
Imported once before any agent runs: it draws no random number and holds no state of a match.
"""

from . import agent as agent
from . import core as core
from . import envs as envs
from . import errors, utils
from . import helpers as helpers
from .absent import absent
from .agent import Agent
from .core import environments, evaluate, make, register

__version__ = "1.33.2"

get_episode_replay = absent("get_episode_replay")
list_episodes = absent("list_episodes")
list_episodes_for_submission = absent("list_episodes_for_submission")
list_episodes_for_team = absent("list_episodes_for_team")

# What a star import brings, in the order it has there.
__all__ = [  # noqa: RUF022
    "Agent",
    "environments",
    "errors",
    "evaluate",
    "make",
    "register",
    "utils",
    "__version__",
    "get_episode_replay",
    "list_episodes",
    "list_episodes_for_team",
    "list_episodes_for_submission",
]
