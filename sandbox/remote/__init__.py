"""Agents that run at addresses of their owners, and the one way out of the house to them.

``address`` is what an owner may write, ``egress`` the guard through which every connection goes.
Nothing here follows a redirect: whoever calls connects to the address that was submitted.
"""
