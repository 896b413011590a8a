"""Raises during import, before anything is callable."""

raise RuntimeError("this agent crashes at import")
