"""Looks for everything that an agent must not see, prints it, and plays legal moves.

In its first call it prints one line ``FOUND {json}``: environment, files, processes, mounts, open
descriptors, host name, users, network. A test then checks that no secret is in this line.
"""

import json
import os
import socket
import sys
from typing import Any

STEPS = {"NORTH": (-1, 0), "EAST": (0, 1), "SOUTH": (1, 0), "WEST": (0, -1)}
OPPOSITE = {"NORTH": "SOUTH", "SOUTH": "NORTH", "EAST": "WEST", "WEST": "EAST"}
memory = {"last": ""}


def exits_of(cell: int, taken: set[int], rows: int, columns: int) -> list[str]:
    row, column = divmod(cell, columns)
    return [
        move
        for move, (down, right) in STEPS.items()
        if (row + down) % rows * columns + (column + right) % columns not in taken
    ]


def play(observation: Any, configuration: Any) -> str:
    """A legal move if there is one, so that the agent lives until its fault."""
    if observation["step"] == 0:
        memory["last"] = ""
    taken = {cell for goose in observation["geese"] for cell in goose}
    head = observation["geese"][observation["index"]][0]
    free = exits_of(head, taken, configuration["rows"], configuration["columns"])
    legal = [move for move in free if move != OPPOSITE.get(memory["last"])]
    memory["last"] = (legal or ["NORTH"])[observation["step"] % max(1, len(legal))]
    return memory["last"]


LIMIT = 4000


def try_it(what: Any) -> Any:
    try:
        return what()
    except BaseException as error:
        return f"{type(error).__name__}: {error}"


def read(path: str) -> str:
    with open(path, "rb") as file:
        return file.read(LIMIT).replace(b"\0", b" ").decode(errors="replace")


def open_to_write(path: str) -> str:
    """Opens for writing but writes nothing: this may run on a developer's own machine."""
    with open(path, "r+b"):
        return "opened"


def connect(address: tuple[str, int]) -> str:
    with socket.create_connection(address, timeout=0.2):
        return "connected"


def tree(root: str) -> list[str]:
    found = [os.path.join(at, name) for at, _, names in os.walk(root) for name in names]
    return found[:200]


def processes() -> dict[str, str]:
    numbers = [name for name in os.listdir("/proc") if name.isdigit()]
    return {
        number: str(try_it(lambda at=number: read(f"/proc/{at}/cmdline"))) for number in numbers
    }


def descriptors() -> dict[str, str]:
    names = os.listdir("/proc/self/fd")
    return {name: str(try_it(lambda at=name: os.readlink(f"/proc/self/fd/{at}"))) for name in names}


def look() -> dict[str, Any]:
    return {
        "environment": dict(os.environ),
        "arguments": sys.argv,
        "path": sys.path,
        "cwd": try_it(os.getcwd),
        "ids": [os.getuid(), os.getgid(), os.getpid(), os.getppid()],
        "host": try_it(socket.gethostname),
        "root": try_it(lambda: sorted(os.listdir("/"))),
        "tmp": try_it(lambda: tree("/tmp")),
        "home": try_it(lambda: tree(os.path.expanduser("~"))),
        "run": try_it(lambda: tree("/run")),
        "agent": try_it(lambda: tree("/kaggle_simulations")),
        "processes": try_it(processes),
        "descriptors": try_it(descriptors),
        "reads": {
            path: try_it(lambda at=path: read(at))
            for path in (
                "/etc/shadow",
                "/proc/self/mountinfo",
                "/proc/self/cgroup",
                "/proc/self/status",
                "/proc/1/environ",
                "/proc/1/cmdline",
                "/var/run/docker.sock",
                "/proc/kallsyms",
            )
        },
        "writes": {
            path: try_it(lambda at=path: open_to_write(at))
            for path in (
                "/etc/passwd",
                "/etc/hosts",
                "/proc/sys/kernel/hostname",
                "/kaggle_simulations/agent/main.py",
            )
        },
        "network": {
            f"{host}:{port}": try_it(lambda at=(host, port): connect(at))
            for host, port in (
                ("127.0.0.1", 5432),
                ("127.0.0.1", 6379),
                ("172.17.0.1", 22),
                ("169.254.169.254", 80),
                ("192.0.2.1", 80),
                ("localhost", 8000),
            )
        },
        "names": try_it(lambda: socket.getaddrinfo("example.org", 80)),
        "modules": sorted(sys.modules),
    }


def agent(observation: Any, configuration: Any) -> str:
    if observation.step == 0:
        print("FOUND", json.dumps(look(), default=str))
        print("SEEN", json.dumps({"observation": observation, "configuration": configuration}))
    return play(observation, configuration)
