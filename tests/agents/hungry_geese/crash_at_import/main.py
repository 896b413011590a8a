"""Raises while it is loaded, before there is anything to call."""

raise RuntimeError("this agent crashes at import")
