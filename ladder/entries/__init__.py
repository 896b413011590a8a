"""Agents, submissions and entries: from an upload to an entry that plays.

``sending.send`` stores an upload, ``entries.enter`` makes the entry, ``validations.make`` its
validation match. The result of that match makes the entry active or rejected:
``lease_decide_entry`` in ``ladder/matches/lease.sql``. ``opening`` makes a league with its first
season and anchors.
"""
