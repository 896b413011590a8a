"""`peck`: the command line, a client of the public API."""

import sys

# httpx would import click, rich and pygments for a command of its own: a third of its import time.
if "httpx" not in sys.modules:
    sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]
