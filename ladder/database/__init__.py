"""What every domain stores with: connections (``db``), blobs, migrations, idempotency keys."""
