"""The records of a tournament's course, and its draw. Entrants are numbers: 1 is the best seed.

One seed decides everything that chance decides. It is committed before and revealed after. Each
draw has a label. A draw sorts its items by SHA-256 of seed, label and item, so that anybody can
repeat it without this program.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from typing import Final, NewType

from ladder.errors import Invalid
from ladder.tournaments.formats.plan import Plan
from ladder.tournaments.mean_names import MEANS, SCORE_A_PAIRING

Entrant = NewType("Entrant", int)
"""Place in the seed order at the lock, from 1."""
Position = tuple[int, int]
"""A stage and a round, both from 1."""


@dataclass(frozen=True, slots=True, order=True)
class Key:
    """Stable identity of a pairing: its stage, its round and its number there, all from 1."""

    stage: int
    round: int
    number: int

    def __str__(self) -> str:
        return f"{self.stage}.{self.round}.{self.number}"

    @classmethod
    def parse(cls, text: str) -> Key:
        """Reads ``1.2.3``; raises Invalid."""
        parts = text.split(".")
        if len(parts) != 3 or not all(
            part.isascii() and part.isdigit() and len(part) < 6 for part in parts
        ):
            raise Invalid("key", "must be stage, round and number, such as 1.2.3")
        return cls(*map(int, parts))


@dataclass(frozen=True, slots=True)
class Game:
    """An accepted game of a pairing."""

    number: int
    """From 1; games 2p-1 and 2p are the mirrored pair p of a series."""
    entrants: tuple[int, ...]
    """By seat."""
    places: tuple[int, ...]
    """By seat; 1 is best, and equal places are a tie."""
    rewards: tuple[float, ...] = ()
    """By seat; counts in solo games only."""
    seed: bytes = b""
    """Of the match, if known; only the export shows it."""


class State(StrEnum):
    WAITING = "waiting"
    """An entrant is not known yet."""
    READY = "ready"
    """Games can be played."""
    FINISHED = "finished"
    """Has an outcome; also a bye and a walk-over."""
    VOID = "void"
    """Will not be played: nobody comes to it, or a second final is not needed."""


class By(StrEnum):
    """What decided a pairing."""

    GAMES = "games"
    """The games that the plan fixes."""
    MORE_GAMES = "more games"
    """Further pairs of games, because the fixed ones were level."""
    SEED = "seed"
    """The better seed, because all games were level."""
    WALK_OVER = "walk-over"
    """An opponent withdrew or was disqualified."""
    BYE = "bye"
    """There was no opponent."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a pairing."""

    order: tuple[int, ...]
    """Entrants, best first."""
    scores: tuple[float, ...]
    """What each gains for the table, in the same order: 1, 0.5 or 0 in a series, placement points
    in a heat, rewards in a solo game. Nobody gains anything if both entrants withdrew.
    """
    points: tuple[float, ...]
    """Points of the games, in the same order; in a series 1 for a won game."""
    by: By
    text: str
    """In plain words."""

    @property
    def drawn(self) -> bool:
        """Whether two entrants share the score of a series."""
        return self.scores == (0.5, 0.5)

    def score_of(self, entrant: int) -> float:
        """Returns what this entrant gains."""
        return self.scores[self.order.index(entrant)]


@dataclass(frozen=True, slots=True)
class WantedGame:
    """A game to play now. The same key and number always give the same seats and seed."""

    number: int
    entrants: tuple[int, ...]
    """By seat."""
    seed: bytes
    """16 bytes; both games of a mirrored pair share them."""


class Takes(StrEnum):
    """How a place of a pairing gets its entrant."""

    SEED = "seed"
    WINNER = "winner"
    LOSER = "loser"
    RANK = "rank"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an entrant of a pairing comes from."""

    takes: Takes
    number: int = 0
    """Seed within the stage, or rank; 0 for a winner or loser."""
    key: Key | None = None
    """The pairing whose winner or loser comes."""

    def text(self) -> str:
        """Says it in words: ``winner of 1.2.3``."""
        return f"{self.takes} of {self.key}" if self.key else f"{self.takes} {self.number}"


@dataclass(frozen=True, slots=True)
class Pairing:
    """What a round puts together: two entrants (a series), more (a heat) or one (a solo game)."""

    key: Key
    section: str
    """``winners``, ``losers``, ``final``, ``third place``, ``group 2``, ``play-off`` or empty."""
    title: str
    """Name of the round, such as ``Semi-final``."""
    entrants: tuple[int | None, ...]
    """None: not known yet. A bye has one entrant."""
    origins: tuple[Origin, ...]
    state: State
    reason: str
    """Why these entrants meet, in plain words; ``{3}`` stands for the name of entrant 3."""
    outcome: Outcome | None = None
    wanted: tuple[WantedGame, ...] = ()
    """Games to play now. They can run in parallel, and none of them is superfluous."""

    @property
    def round(self) -> Position:
        """Stage and round."""
        return self.key.stage, self.key.round

    @property
    def round_name(self) -> str:
        """Name of its round and section, such as ``Round 2, group 1``."""
        title = self.title or f"Round {self.key.round}"
        is_told = not self.section or self.section in title.lower()
        return title if is_told else f"{title}, {self.section}"

    @property
    def shown_order(self) -> tuple[int | None, ...]:
        """The entrants in the order of the outcome's text, best first; without one as paired."""
        return self.outcome.order if self.outcome else self.entrants


@dataclass(frozen=True, slots=True)
class PairedRound:
    """A round of a Swiss stage or of heats as it was paired."""

    basis: str
    """Digest of all that the pairing depends on. A round with another basis is paired again."""
    pairs: tuple[tuple[int, ...], ...]
    """Entrants of each pairing in order of number, by seat in the first game; a bye has one."""
    note: str = ""
    """Which rule had to give way; empty if none."""


@dataclass(frozen=True)
class Event:
    """All that is fixed before the first game."""

    plan: Plan
    size: int
    """Number of entrants."""
    seed: bytes
    prohibited: frozenset[tuple[int, int]] = frozenset()
    """Pairs that a Swiss stage never pairs, because they are of one team."""


@dataclass(frozen=True)
class Progress:
    """All that happened since the start."""

    results: Mapping[Key, Sequence[Game]]
    """Accepted games. Games void through a fault of a host are left out, so they stay wanted."""
    withdrawn: Mapping[int, Position] = field(default_factory=dict)
    """The last round that was paired when the entrant withdrew or was disqualified; (1, 0) before
    the start, and after the end the round after the last one. It loses unfinished pairings up to
    that round by walk-over, and later ones too.
    """
    published: Mapping[Position, PairedRound] = field(default_factory=dict)
    """Rounds as they were paired before. They save the search for past Swiss rounds."""


@dataclass(frozen=True)
class Course:
    """The whole course so far."""

    pairings: tuple[Pairing, ...]
    """In order of their keys; those of a bracket stand from its start."""
    position: Position
    """The first round that is not finished, or the last one of all."""
    finished: bool
    ranking: tuple[int, ...]
    """Final order, those who left behind the others; empty until the end."""
    fields: tuple[tuple[int, ...], ...]
    """Entrants of each stage that has begun, in its own seed order."""
    stale: tuple[Key, ...]
    """Results that fit no pairing any more."""
    published: Mapping[Position, PairedRound]
    champion: int | None = None
    """The first of the final order, if it stayed; None if all left, and before the end."""
    drawn_winners: tuple[int, ...] = ()
    """At the end of a solo tournament of one stage, the entrants with the best reward, if there are
    several. The draw orders them, so it makes the first one the champion.
    """

    @cached_property
    def _by_key(self) -> dict[Key, Pairing]:
        return {pairing.key: pairing for pairing in self.pairings}

    def get(self, key: Key) -> Pairing:
        """Returns the pairing with this key; raises KeyError."""
        return self._by_key[key]

    def stage(self, number: int) -> tuple[Pairing, ...]:
        """Returns the pairings of a stage."""
        return tuple(pairing for pairing in self.pairings if pairing.key.stage == number)


@dataclass(frozen=True, slots=True)
class Standing:
    """A line of a stage's table."""

    rank: int
    """Shared only where a knock-out gives no order."""
    entrant: int
    group: int
    """From 1; 0 without groups."""
    score: float
    """Points as shown: 1 for a won series, 0.5 for a drawn one; placement points; rewards."""
    played: int
    """Finished pairings with an opponent."""
    wins: int
    tie_breaks: tuple[tuple[str, str], ...]
    """Names and values; means have at most six decimal places."""
    explanation: str
    """Why it stands before the next one."""

    @property
    def mean(self) -> str:
        """The mean that orders the table, with at most two decimals. Empty if sums order it."""
        shown = dict(self.tie_breaks)
        mean = next((shown[name] for name in MEANS if name in shown), None)
        return decimal_text(Fraction(mean), 2) if mean else ""

    @property
    def mean_unit(self) -> str:
        """Unit of the mean: ``pairing`` or ``heat``."""
        return "pairing" if SCORE_A_PAIRING in dict(self.tie_breaks) else "heat"


FINEST: Final = 1_000_000
"""Largest denominator. So sums of 0.1 or of a third are exact, and equal ones equal."""


def exact(value: float) -> Fraction:
    """Returns the nearest fraction with a denominator of at most FINEST."""
    return Fraction(value).limit_denominator(FINEST)


def decimal_text(value: Fraction, places: int = 6) -> str:
    """Returns the number with at most this many decimal places."""
    return f"{float(value):.{places}f}".rstrip("0").rstrip(".")


def texts_apart(first: Fraction, second: Fraction) -> tuple[str, str]:
    """Returns both numbers with 2 to 12 decimal places, as few as make the texts differ."""
    places = next(
        (n for n in range(2, 12) if decimal_text(first, n) != decimal_text(second, n)), 12
    )
    return decimal_text(first, places), decimal_text(second, places)


def new_seed() -> bytes:
    """Draws 32 bytes from the system's generator."""
    return secrets.token_bytes(32)


def commitment(seed: bytes) -> str:
    """Returns the SHA-256 digest of the seed as hex, to publish before the draw."""
    return hashlib.sha256(seed).hexdigest()


def draw_order(seed: bytes, label: str, items: Sequence[str]) -> list[str]:
    """Returns the items in a drawn order, which does not depend on the order given."""
    return sorted(items, key=lambda item: (draw_bytes(seed, f"{label}/{item}"), item))


def draw_bytes(seed: bytes, label: str) -> bytes:
    """Returns 32 bytes for this label."""
    return hashlib.sha256(seed + b"/" + label.encode()).digest()


def draw_number(seed: bytes, label: str, below: int) -> int:
    """Returns a number from 0 to below ``below``; the bias is under 2^-200."""
    return int.from_bytes(draw_bytes(seed, label)) % below


def game_seed(seed: bytes, label: str) -> bytes:
    """Returns the 16 bytes of a game's seed."""
    return draw_bytes(seed, f"game/{label}")[:16]
