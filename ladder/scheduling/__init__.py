"""Which rated matches are made now: ``pairing_round.pair``, called by the scheduler.

``season_cache`` keeps what the pairing needs of each season in memory, ``turns`` shares the queue
fairly. The choice of opponents is in ``ladder.matches.pairing``.
"""
