"""Settings of Hypothesis for the unit tests. Tests elsewhere name their own."""

from __future__ import annotations

import hypothesis

# Slow machines make slow examples; no test here asserts a time.
hypothesis.settings.register_profile("peck", deadline=None)
hypothesis.settings.load_profile("peck")
