"""Interfaces for people and programs: API, pages, command line, scheduler.

``api`` and ``web`` share ``http``, and ``app`` joins both. ``scheduler`` runs jobs without a
request. All decisions are in ``ladder``.
"""
