"""Is a new version better? ``confidence_sequence`` calculates it, ``verdicts`` decides.

A pair is two games with the same seed, seat and opponents: one of the old version, one of the new.
``comparisons`` stores the comparisons of the service, and ``progress`` plays them.
"""
