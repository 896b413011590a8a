"""Simulates ladders: the real rating, pairing and standings code beside another scheme.

A world knows every agent's strength, and a ladder sees only results. The measures compare the
ladder's board with the true strengths. The unit of skill is beta, the spread of one player's luck
in one game.

``worlds`` holds the true strengths. ``official_ladder`` and ``baselines`` rate and pair.
``seasons`` plays, ``board_accuracy`` compares, and ``__main__`` asks and prints.
"""
