"""Agents that run at addresses of their owners, and the one way out of the instance to them.

``manifest`` is what an owner submits; every connection goes through ``egress``, the guard.
Nothing here follows a redirect: whoever calls connects to the address that was submitted.
"""
