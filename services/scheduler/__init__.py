"""The scheduler: one leader runs every job of ``jobs`` in a loop."""
