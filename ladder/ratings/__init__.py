"""Computes live ratings and official standings from the season's log of accepted results.

Live: ``live_ratings`` adds the log's results, by TrueSkill (``rating_updates``), and
repeats this after results were withdrawn. Official: ``fitting`` fits the whole log (``official``,
pure) and writes each fit as a version (``standing_versions``). ``medal_sealing`` seals medals.
``fitting.rate_all_seasons`` runs both. ``solo_seasons`` serves seasons of one seat, which
have neither.
"""
