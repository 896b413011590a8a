"""Celery workers. ``tasks`` answers wake-up messages, ``match_attempt`` plays a match, and
``lease_renewal`` keeps its lease. All state is in Postgres; a message may be lost or doubled."""
