"""Who plays whom next: pure, seeded, from maintained columns alone.

``candidates`` says who is in the field, and ``filling`` whether the field can fill a match.
``worth`` says what a game of each candidate would teach, and ``field`` keeps that while ``lineups``
makes the lineups. ``seating`` deals out the seats. Where a match has one seat, ``rounds`` says who
plays which round.
"""

from ladder.matches.pairing.candidates import Candidate, Proposal, left_out
from ladder.matches.pairing.encounter_counts import Meetings
from ladder.matches.pairing.lineups import LONGEST_WAIT, propose
from ladder.matches.pairing.shortage import anchors_to_add, shortage
from ladder.matches.pairing.solo_rounds import Runner, advance

__all__ = [
    "LONGEST_WAIT",
    "Candidate",
    "Meetings",
    "Proposal",
    "Runner",
    "advance",
    "anchors_to_add",
    "left_out",
    "propose",
    "shortage",
]
