"""Plays agents that run at their owners' addresses.

``manifest`` is what an owner submits. Every connection goes out through ``egress``, the guard. No
redirect is followed: connections go only to the submitted address.
"""
