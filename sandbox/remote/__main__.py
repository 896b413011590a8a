"""``python -m sandbox.remote``: the remote daemon, with only the environment that it reads.

A process's start environment stays in its memory and in its forks. So if there are more variables,
the daemon executes itself again without them.
"""

import os
import sys

READ = ("PECK_EGRESS_", "SSL_CERT_", "PYTHON", "LD_LIBRARY_PATH", "LC_", "LANG", "PATH", "TZ")
"""Prefixes of the variables that the guard, TLS and the interpreter read."""

if __name__ == "__main__":
    read = {name: text for name, text in os.environ.items() if name.startswith(READ)}
    if read.keys() != os.environ.keys():
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], read)  # noqa: S606

    from sandbox.remote.daemon import main

    sys.exit(main())
