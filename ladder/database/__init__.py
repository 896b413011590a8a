"""Database connections (``db``), blobs, migrations and idempotency keys."""
