"""Becomes the agent whose number the match's configuration holds, so that a box can meet them all.

``agents.json`` beside the kit holds the source texts. The number is in ``hunger_rate``, which
changes nothing in a match of a few steps.
"""

import json

from tests.agents.hostile import kit

with open("tests/agents/hostile/agents.json") as file:
    sources = json.load(file)
harness = kit.in_frames("self", lambda one: hasattr(one, "_configuration"))
code = compile(
    sources[harness._configuration["hunger_rate"] - kit.FIRST_NUMBER],
    "/kaggle_simulations/agent/main.py",
    "exec",
)
del file, harness, json, kit, sources
exec(code)
