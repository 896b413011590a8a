"""The part of kaggle_environments 1.33.2 that agents import, rewritten for a box.

Kaggle agents use types and small functions of that package, which needs more disk than a box has.
This package has the same names and behaviour and uses only the standard library. Functions that
would start a game can be imported; a call raises an error with the reason. The package is imported
before any agent runs. It draws no random number and keeps no state of a match.
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

# Same names and order as the original's star import.
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
