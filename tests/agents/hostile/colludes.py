"""Two seats of one submission try to communicate by names, numbers, locks and counters."""

import fcntl
import json
import os
import socket
import struct
import time
from typing import Any

from tests.agents.hostile import kit


def meet_by_socket(seat: int) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as own:
        if seat == 0:
            own.bind("\0meet")
            own.settimeout(0.15)
            own.recv(10)
        else:
            time.sleep(0.05)
            own.sendto(b"hello", "\0meet")


def meet_by_datagram(seat: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
        own.bind(("127.0.0.1", 47_000 + seat))


def meet_by_lock() -> str:
    with open(json.__file__, "rb") as file:
        asked = struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 77, 1, 0)
        answer = fcntl.fcntl(file, fcntl.F_GETLK, asked)
        return repr(answer)


def agent(obs: Any, config: Any) -> Any:
    seat = obs["index"]
    if obs["step"] == 0:
        with open(f"/tmp/seat{seat}", "w") as file:
            file.write("here")
        with open(json.__file__, "rb") as shared:
            fcntl.flock(shared, fcntl.LOCK_EX)
    if obs["step"] == 1:
        kit.tell("the other seat's file", os.path.exists(f"/tmp/seat{1 - seat}"))
        kit.attempt("a socket with a name", meet_by_socket, seat)
        kit.attempt("a datagram", meet_by_datagram, seat)
        kit.attempt("a lock on a file of both", meet_by_lock)
        kit.refused("shmget", 29, 194, 4711, 4096, 0o1666)
        kit.attempt("a change of a shared file", os.utime, json.__file__)
    return kit.move(obs)
