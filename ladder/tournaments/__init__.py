"""Tournaments: formats as pure functions, and the course of a tournament from entry to champion."""
