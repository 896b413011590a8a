"""Names of kaggle_environments.agent; none of them can be used in a match."""

from .absent import absent

Agent = absent("Agent")
build_agent = absent("build_agent")
get_last_callable = absent("get_last_callable")
