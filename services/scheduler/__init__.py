"""The scheduler: one leader runs all jobs of ``jobs`` in a loop."""
