"""Lets hosts correct a season: ``disqualifications``, ``rejudgements`` and ``shared_places``.

``result_search`` finds the results that match a host's predicate. ``suspects`` lists what looks
like copies or thrown games.
"""
