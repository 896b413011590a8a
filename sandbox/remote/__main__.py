"""``python -m sandbox.remote``: the remote daemon."""

import sys

from sandbox.remote.daemon import main

if __name__ == "__main__":
    sys.exit(main())
