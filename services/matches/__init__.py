"""Matches: results, replays, logs, highlights, and running matches."""
