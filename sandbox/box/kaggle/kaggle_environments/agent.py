"""Names of kaggle_environments.agent. None of them works in a match."""

from .absent import absent

Agent = absent("Agent")
build_agent = absent("build_agent")
get_last_callable = absent("get_last_callable")
