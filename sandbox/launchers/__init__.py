"""Makes boxes: ``base`` has the interface, ``choose`` picks ``docker`` or ``bubblewrap``.

Its launcher ``process`` isolates nothing and only serves tests.
"""
