"""Plays one match of untrusted agents under the clock.

The package knows no database, broker or web.

- ``match`` runs in the worker: referee, clock and record. It borrows boxes from a node.
- ``node`` is the daemon that lends boxes.
- ``launchers`` make boxes: Docker, bubblewrap or plain processes.
- ``box`` runs inside a box: supervisor, zygote and the agent's process.
- ``remote`` plays agents at their owners' addresses.
- ``doctor`` checks what this machine can isolate.
"""
