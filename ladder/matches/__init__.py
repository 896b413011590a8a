"""Matches: made, queued, claimed under a lease, finished.

``matches.create`` queues a match, ``waking`` picks those due for a wake-up message. ``lease`` is
what a worker calls; its rules are in ``lease.sql``, also those on late results and lost workers.
``pairing`` says who plays whom, ``history`` reads matches.
"""
