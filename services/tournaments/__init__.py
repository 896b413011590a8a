"""Tournaments: the operations of the API, and their answers."""
