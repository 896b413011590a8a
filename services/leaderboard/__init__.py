"""Leaderboards, how well they are known, insights, and search."""
