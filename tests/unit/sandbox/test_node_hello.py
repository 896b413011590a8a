from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.box import wire
from sandbox.errors import HostFault
from sandbox.match import loans

ANSWER = {"node": "n1", "launcher": "process", "profiles": [], "image_digests": {}, "lacks": []}


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Path]:
    """A node's socket; this process listens there and answers every greeting."""
    path = tmp_path / "sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    if connection.recv(1, socket.MSG_PEEK):
                        wire.receive_frame(connection)
                        wire.send_frame(connection, ANSWER)

        thread = threading.Thread(target=serve)
        thread.start()
        yield path
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


def test_a_greeting_from_the_started_process_is_accepted(node: Path) -> None:
    for started in (None, os.getpid(), os.getppid()):
        assert loans.node_hello(node, started=started).node == "n1"


def test_a_greeting_from_a_previous_node_is_refused(node: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as new:
        with pytest.raises(HostFault, match="another node still answers"):
            loans.node_hello(node, started=new.pid)
        new.kill()
