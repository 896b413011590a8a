"""How a box is made: ``base`` has the interface, ``choose`` picks ``docker`` or ``bubblewrap``.

``process`` isolates nothing and is for tests of other parts.
"""
