"""Notices: tells people what happened, on their page, by mail, by webhook and in Atom feeds.

``kinds.record_event`` writes an event in the transaction of the act. ``notices.sql`` then writes
the notices of its people. ``kinds.sql`` says who is told of what, and ``kinds`` in which words.
"""
