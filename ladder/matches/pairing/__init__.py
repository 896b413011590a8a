"""Chooses opponents for the next matches. Pure and seeded; reads only maintained columns.

``candidates`` defines the field, and ``lineup_shortage`` checks whether the field can fill a match.
``candidate_table`` holds the field as columns. ``information_gain`` computes the value of a game
for each candidate. ``candidate_arrays`` stores these values while ``lineups`` makes the lineups.
In a season of one seat, ``solo_rounds`` assigns the rounds.
"""

from ladder.matches.pairing.candidate_table import CandidateTable, live_numbers
from ladder.matches.pairing.candidates import Candidate, Proposal, left_out_profiles
from ladder.matches.pairing.encounter_counts import EncounterCounts
from ladder.matches.pairing.lineup_shortage import anchors_to_add, shortage_message
from ladder.matches.pairing.lineups import (
    LONGEST_WAIT,
    LineupTerms,
    propose_from_table,
    propose_lineups,
)
from ladder.matches.pairing.solo_rounds import EntryRound, next_rounds

__all__ = [
    "LONGEST_WAIT",
    "Candidate",
    "CandidateTable",
    "EncounterCounts",
    "EntryRound",
    "LineupTerms",
    "Proposal",
    "anchors_to_add",
    "left_out_profiles",
    "live_numbers",
    "next_rounds",
    "propose_from_table",
    "propose_lineups",
    "shortage_message",
]
