"""Formats of tournaments: pure functions of plan, entrants, seed and results.

``plan`` describes a tournament and checks it. ``course`` computes everything that follows from the
results: pairings, games to play, tables and the champion. It also finds what depends on a result.
``records`` holds what it answers. The formats are in ``round_robin``, ``elimination``, ``swiss``
(paired by ``dutch``) and ``heats``; ``stage_run`` judges one pairing. ``tie_breaks`` and
``standings`` make tables, and ``drawing`` lays out brackets. ``records`` also draws from the
committed seed, and ``export`` and ``trf`` write files.
"""
