"""Lets hosts repair a season: ``disqualifications`` and ``rejudgements``.

``suspects`` finds the results that match a host's predicate.
"""
