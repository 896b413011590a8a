"""Plays one match of untrusted agents under the clock. Knows no database, no broker and no web.

::

    match      runs in the worker: referee, clock, record; borrows boxes from a node
    node       the daemon that lends boxes
    launchers  how a box is made: Docker, bubblewrap, process
    box        runs inside a box: supervisor, zygote, the agent's process
    remote     agents at addresses of their owners
    doctor     what this machine can isolate
"""
