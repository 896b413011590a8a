"""Random Swiss tournaments: drawn games, forfeits, withdrawals, byes and prohibited pairs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Final

from py4swiss.engines.common import PairingError

from ladder.tournaments.formats.dutch import pair_by_the_rules
from ladder.tournaments.formats.trf import (
    ABSENT,
    BYE,
    DRAW,
    FORFEIT_LOSS,
    FORFEIT_WIN,
    LOSS,
    WIN,
    Player,
    Report,
    RoundOf,
)

ANSWERS: Final = Path(__file__).parent / "dutch_answers.txt"
"""Digests of the pairings of bbpPairings, one tournament a line."""
Pairs = tuple[tuple[int, int], ...]
Pair = Callable[[Report, frozenset[int]], Pairs | None]
RESULTS: Final = (
    (WIN, LOSS),
    (LOSS, WIN),
    (DRAW, DRAW),
    (FORFEIT_WIN, FORFEIT_LOSS),
    (FORFEIT_LOSS, FORFEIT_LOSS),
)
WEIGHTS: Final = (36, 30, 30, 2, 1)
"""How often each result comes."""


def pair_here(report: Report, absent: frozenset[int]) -> Pairs | None:
    """Returns our pairs, or None if the rules allow no pairing."""
    try:
        return pair_by_the_rules(report, absent)
    except PairingError:
        return None


def rounds_of(number: int, pair: Pair) -> Iterator[tuple[Report, frozenset[int], Pairs | None]]:
    """Plays tournament ``number``; yields report, absent players and pairs of each round."""
    rng = Random(number)
    size = rng.randint(8, 64)
    rounds = rng.randint(4, min(9, size // 2 + 1))
    prohibited = frozenset(
        (min(pair), max(pair))
        for pair in (rng.sample(range(1, size + 1), 2) for _ in range(rng.randint(0, size // 4)))
    )
    players = tuple(Player(f"Player {n}", (), n) for n in range(1, size + 1))
    report = Report("Random", rounds, players, rng.random() < 0.5, prohibited)
    leaving = rng.choice((0.0, 0.01, 0.04))
    absent: frozenset[int] = frozenset()
    for _ in range(rounds):
        here = [n for n in range(1, size + 1) if n not in absent]
        absent |= {n for n in here if rng.random() < leaving and len(here) > 6}
        pairs = pair(report, absent)
        yield report, absent, pairs
        if pairs is None:
            return
        report = add_round(report, pairs, rng)


def add_round(report: Report, pairs: Sequence[tuple[int, int]], rng: Random) -> Report:
    """Returns the report with drawn results of these pairs, in order of the first numbers."""
    lines = {n: RoundOf(0, "-", ABSENT) for n in range(1, len(report.players) + 1)}
    for white, black in sorted(pairs):
        if not black:
            lines[white] = RoundOf(0, "-", BYE)
            continue
        ((one, two),) = rng.choices(RESULTS, WEIGHTS)
        lines[white], lines[black] = RoundOf(black, "w", one), RoundOf(white, "b", two)
    players = tuple(
        replace(player, rounds=(*player.rounds, lines[n]))
        for n, player in enumerate(report.players, 1)
    )
    return replace(report, players=players)


def digest_of(number: int, pair: Pair) -> str:
    """Returns a digest of all pairs of a tournament, with their colors."""
    return digest_of_rounds([pairs for _, _, pairs in rounds_of(number, pair)])


def digest_of_rounds(rounds: Sequence[Pairs | None]) -> str:
    """Returns a digest of these rounds; the order of pairs does not matter."""
    text = repr([sorted(pairs or ()) for pairs in rounds])
    return hashlib.sha256(text.encode()).hexdigest()[:16]
