"""``python -m sandbox.remote``: the remote daemon, in an environment of what it reads and no more.

What a process was started with stays in its memory, and in that of what it forks, whatever it
forgets later. So it starts anew, before it is anything, where there is more.
"""

import os
import sys

READ = ("PECK_EGRESS_", "SSL_CERT_", "PYTHON", "LD_LIBRARY_PATH", "LC_", "LANG", "PATH", "TZ")
"""How the variables begin that the guard, TLS and the interpreter read."""

if __name__ == "__main__":
    read = {name: text for name, text in os.environ.items() if name.startswith(READ)}
    if read.keys() != os.environ.keys():
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], read)  # noqa: S606

    from sandbox.remote.daemon import main

    sys.exit(main())
