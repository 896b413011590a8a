"""Agents, submissions and entries: from an upload to an entry that plays.

``submit.submit`` stores an upload, ``entries.enter_season`` creates the entry,
``validations.make_validation_match`` its validation match. The result of that match makes the entry
active or rejected: ``entry_decide`` in ``entries.sql``, which makes every change of an entry's
state. ``anchors`` creates a league with its first season and anchors.
"""
