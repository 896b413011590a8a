"""What people and programs reach: API, pages, command line, scheduler. They translate.

``http`` is shared by ``api`` and ``web``, and ``app`` joins both. ``scheduler`` runs the jobs that
need no request. Decisions are in ``ladder``.
"""
