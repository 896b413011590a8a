"""Agents, submissions and entries: from an upload to an entry that plays.

``submit.submit`` stores an upload, ``entries.enter_season`` creates the entry,
``validations.make_validation_match`` its validation match. The result of that match makes the entry
active or rejected: ``lease_decide_entry`` in ``ladder/matches/lease.sql``. ``entries.sql`` makes
every change of an entry's state. ``league_setup`` creates a league with its first season and
anchors.
"""
