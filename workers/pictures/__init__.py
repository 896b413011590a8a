"""Draws pictures of matches, agents and leagues for other sites: cards and moving clips."""
