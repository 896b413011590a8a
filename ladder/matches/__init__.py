"""Matches: created, queued, claimed under a lease, finished.

``matches.create_match`` queues a match; ``waking`` picks those due for a wake-up message. Workers
call ``lease``; ``lease.sql`` has its rules, including late results and lost workers. ``pairing``
chooses opponents, ``history`` reads matches.
"""
