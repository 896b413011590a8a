"""Simulates ladders: the real rating, pairing and standings code beside other schemes.

    python -m benchmarks rating [--quick] [--world NAME ...] [--seeds N] [--json FILE]

A world knows every agent's strength, and a ladder sees only results. The measures compare the
ladder's board with the true strengths. The unit of skill is beta, the spread of one player's luck
in one game. ``g`` is games per agent.

``promises`` compares the ladder with its aims against people who try.
``experiments`` says what to run and ``worlds`` holds the true strengths. ``official_ladder`` and
``baselines`` rate and pair. ``seasons`` plays, ``board_accuracy`` compares and ``report`` prints.
"""
