"""The program that runs inside a box. It uses only the standard library and its own modules.

The folder is mounted or copied into the box as ``peckbox``. All its imports are relative, so the
name does not matter. Only ``kaggle/`` is on the agents' import path: it has the names that agents
import from kaggle_environments.

- The *supervisor* starts the zygote. It forks the unpacker once per box and the sweeper after a
  match.
- The *zygote* imports the profile's libraries, never runs agent code, and forks one child per
  match.
- The *child* is hardened, then runs the harness and ``main.py``, or forks the agent's program.
"""
