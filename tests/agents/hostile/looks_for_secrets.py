"""Looks for keys, engines, other bundles and the host's files."""

import os
from typing import Any

from tests.agents.hostile import kit

GIVEN = {
    *("HOME", "LANG", "LOGNAME", "PATH", "USER", "NUMBA_CACHE_DIR"),
    *("MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"),
}
"""Variables in every agent's environment."""
PLACES = (
    "/var/run/docker.sock",
    "/run/docker.sock",
    "/run/containerd",
    "/var/lib/docker",
    "/root",
    "/home",
    "/etc/shadow",
    "/etc/ssh",
    "/srv",
    "/opt",
    "/var/tmp",
    "/host",
    "/var/run/secrets",
    "/run/secrets",
    "/proc/1/root/etc/shadow",
    "/proc/1/cwd",
    "/sys/kernel/debug",
    "/sys/firmware/efi",
    "/etc/hostname_of_host",
)


def look(path: str) -> None:
    if not (os.listdir(path) if os.path.isdir(path) else kit.first_byte(path)):
        raise FileNotFoundError("empty")


def agent(obs: Any, config: Any) -> Any:
    if obs["step"] == 0:
        for path in PLACES:
            kit.attempt(path, look, path)
        kit.tell(f"environment {sorted(os.environ)}", set(os.environ) - GIVEN)
        kit.attempt("a socket of the supervisor's", look, "/run/peck")
        with open("/proc/self/mountinfo") as lines:
            mounts = [line.split()[4] for line in lines]
        kit.tell("a mount of the host's", any(m.endswith(".sock") for m in mounts))
        kit.tell("more of the bundle", sorted(os.listdir(".")) not in (["main.py", "tests"],))
    return kit.move(obs)
