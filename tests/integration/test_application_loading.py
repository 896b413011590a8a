"""How the web application is loaded."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import gc

collections = []
gc.callbacks.append(lambda phase, info: collections.append("services.application" in sys.modules))
import sys
from services import app
app._load()
assert gc.isenabled() and gc.get_freeze_count() > 100_000
print(sum(collections))
"""


def test_no_garbage_is_collected_while_the_application_loads() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("0\n", "")
