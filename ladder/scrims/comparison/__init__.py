"""Is a new version better? ``estimates.comparison`` calculates and decides it.

A pair is two games with the same seed, seat and opponents: one of the old version, one of the new.
``comparisons`` stores the comparisons of the service, and ``progress`` plays them.
"""
