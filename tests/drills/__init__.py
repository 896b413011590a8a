"""Drills: tests of a running system that take minutes. ``scripts/drill NAME`` runs one."""
