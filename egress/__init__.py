"""The guard before every outbound call to an address that a person gave.

``address`` reads what a person may write. ``guard`` judges where it leads and connects.
``networks`` lists what is not the public internet. ``secured`` is TLS whose every wait is bounded.
Standard library only: a caller of a remote agent has nothing else.
"""
