"""Names of the means that order the table of a stage in place of the score.

The command line imports them without the formats, which load numpy.
"""

from __future__ import annotations

from typing import Final

POINTS_A_HEAT: Final = "points per heat"
"""Mean of tables of heats, if the entrants have different numbers of heats."""
SCORE_A_PAIRING: Final = "score per pairing"
"""Mean of tables of gauntlets that rank by means."""
MEANS: Final = (POINTS_A_HEAT, SCORE_A_PAIRING)
