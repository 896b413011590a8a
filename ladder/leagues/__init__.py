"""Leagues, their members and their seasons.

``settings`` declares each setting once, with its bounds. ``hosting`` has what hosts do: create,
change and end. ``leagues`` and ``seasons`` read and write the rows. ``medals`` has the rules that
award medals.
"""
