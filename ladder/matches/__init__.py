"""Matches: created, queued, claimed under a lease, finished.

``matches.create_match`` queues a match. ``wake_up_messages`` picks matches that are due for a
wake-up message. Workers call ``lease``, and ``lease.sql`` has the rules of a claim. ``pairing``
chooses opponents. ``history`` reads matches.
"""
