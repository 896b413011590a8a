"""Who plays whom next: pure, seeded, from maintained columns alone.

``candidates`` says who stands in the field, ``worth`` what a game of each would teach, ``field``
keeps that while lineups are made, ``lineups`` makes them and ``seating`` deals out the seats. Where
a match has one seat, ``rounds`` says who plays which round.
"""

from ladder.pairing.candidates import Candidate, Proposal
from ladder.pairing.lineups import LONGEST_WAIT, propose
from ladder.pairing.meetings import Meetings
from ladder.pairing.rounds import Runner, advance

__all__ = ["LONGEST_WAIT", "Candidate", "Meetings", "Proposal", "Runner", "advance", "propose"]
