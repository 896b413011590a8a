"""Computes the official standing of a season by one fit of all its games. Pure."""
