"""Leagues, their members, and their seasons.

``requests`` has the bounds of each field that a host gives. ``making`` checks a season against its
game and makes it. ``seasons`` reads, locks and finishes seasons. ``medals`` has the rules by which
medals are given.
"""
