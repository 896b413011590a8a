"""What runs inside a box: standard library only, and nothing of the rest of this project.

The folder is mounted or copied into the box under the neutral name ``peckbox``; every import in
it is relative, so that it does not matter under which name it is found.

``kaggle/`` alone is on the agents' import path: the names they import from kaggle_environments.

::

    supervisor ──spawns──> zygote (profile's libraries imported, never runs agent code)
        │                     └─forks─> child (hardened, then harness, then main.py), one per match
        │                                  └─forks─> the agent's program, where it is no main.py
        ├─forks─> unpacker (hardened, once per box)
        └─forks─> sweeper (after every match)
"""
