"""Simulated ladders: the real rating, pairing and standings code beside other people's schemes.

    python -m benchmarks rating [--quick] [--world NAME ...] [--seeds N] [--json FILE]

A world knows how strong everybody is, a ladder sees results only, and the measures say how far
what the ladder shows is from what is so. Unit of skill: beta, the spread of one player's luck in
one game. ``g`` is games per agent.

``plans`` says what is run, ``worlds`` what is so, ``official`` and ``baselines`` who rates and
pairs, ``seasons`` plays, ``measures`` compares and ``report`` prints.
"""
