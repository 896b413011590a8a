"""Agents, their submissions and entries: operations, pages and forms."""
