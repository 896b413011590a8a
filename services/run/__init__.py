"""Starts an instance: its set-up, its servers and its processes."""
