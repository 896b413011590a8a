"""What a box shares with everything else on its host must not be what ends a match."""

from __future__ import annotations

import array
import socket

from tests.integration.sandbox.nodes import HONEST, Bench


def test_descriptors_that_wait_in_other_sockets_of_the_host_stop_no_box(bench: Bench) -> None:
    # Every idle box has some lying with its node; the kernel counts them by uid, root's together.
    ours, theirs = socket.socketpair()
    with ours, theirs:
        rights = array.array("i", [ours.fileno()] * 200)
        ours.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
        assert bench.findings(HONEST + "# and its own box\n", step=0) == "NORTH"
