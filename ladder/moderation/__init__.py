"""Lets hosts repair a season: ``disqualifications`` and ``rejudgements``.

``result_search`` finds the results that match a host's predicate.
"""
