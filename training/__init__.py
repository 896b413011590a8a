"""Trains the reference agents that learn; the scripts need torch, the service does not."""
