"""Who plays whom next: pure, seeded, from maintained columns alone.

``candidates`` says who stands in the field, ``worth`` what a game of each would teach, ``field``
keeps that while lineups are made, ``lineups`` makes them and ``seating`` deals out the seats.
"""

from ladder.pairing.candidates import Candidate, Proposal
from ladder.pairing.lineups import LONGEST_WAIT, propose
from ladder.pairing.meetings import Meetings

__all__ = ["LONGEST_WAIT", "Candidate", "Meetings", "Proposal", "propose"]
