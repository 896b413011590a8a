"""Tournaments of a league."""
