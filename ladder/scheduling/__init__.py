"""Creates rated matches: ``pairing_round.make_rated_matches``, which the scheduler calls.

``season_cache`` caches what the pairing needs of each season, and shares the queue fairly.
``ladder.matches.pairing`` chooses opponents.
"""
