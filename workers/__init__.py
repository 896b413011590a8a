"""Celery workers: ``tasks`` answers wake-up messages, ``playing`` plays a match, ``renewal`` keeps
its lease. The truth is in Postgres; a message may be lost or doubled."""
