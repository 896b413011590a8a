"""Leagues, their members and their seasons.

``request_models`` has the bounds of each field that a host gives. ``season_creation`` checks a
season against its game and creates it. ``seasons`` reads, locks and finishes seasons. ``medals``
has the rules that award medals.
"""
