"""Who plays whom next: pure, seeded, from maintained columns alone.

``candidates`` says who is in the field, and ``filling`` whether the field can fill a match.
``worth`` says what a game of each candidate would teach, and ``field`` keeps that while ``lineups``
makes the lineups. ``seating`` deals out the seats. Where a match has one seat, ``rounds`` says who
plays which round.
"""

from ladder.matches.pairing.candidates import Candidate, Proposal, left_out_profiles
from ladder.matches.pairing.encounter_counts import EncounterCounts
from ladder.matches.pairing.lineups import LONGEST_WAIT, propose_lineups
from ladder.matches.pairing.shortage import anchors_to_add, shortage_message
from ladder.matches.pairing.solo_rounds import EntryRound, next_rounds

__all__ = [
    "LONGEST_WAIT",
    "Candidate",
    "EncounterCounts",
    "EntryRound",
    "Proposal",
    "anchors_to_add",
    "left_out_profiles",
    "next_rounds",
    "propose_lineups",
    "shortage_message",
]
