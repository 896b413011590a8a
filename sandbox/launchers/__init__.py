"""Makes boxes: ``base`` has the interface, ``choose`` picks ``docker`` or ``bubblewrap``.

``process`` isolates nothing and only serves tests.
"""
