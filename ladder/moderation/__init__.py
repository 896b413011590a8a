"""Lets hosts correct a season: ``disqualifications`` and ``rejudgements``.

``rejudgements`` also finds the results that match a host's predicate. ``suspects`` lists what looks
like copies or thrown games, and lets teams share a place.
"""
