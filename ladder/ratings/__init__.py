"""Two layers of rating, both computed from the season's log of accepted results.

Live: ``ratings`` folds the log into ``online`` TrueSkill; ``rerating`` does so anew after results
were withdrawn. Official: ``fitting`` fits the whole log (``official``, pure), writes each fit as a
version (``versions``) and seals medals (``sealing``). ``rounds.rate`` runs both. ``solo`` is for
seasons of one seat, which have neither.
"""
