"""Pairs the next round of a Swiss tournament by the Dutch system of FIDE, through py4swiss."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from py4swiss.engines import DutchEngine
from py4swiss.engines.common import PairingError
from py4swiss.trf import ParsedTrf
from py4swiss.trf.codes import PlayerCode
from py4swiss.trf.results import ColorToken, ResultToken, RoundResult
from py4swiss.trf.sections import PlayerSection, XSection
from py4swiss.trf.sections.x_section import XSectionConfiguration

from ladder.tournaments.formats.trf import ABSENT, BYE, FULL_BYE, HALF_BYE, Report, RoundOf


@dataclass(frozen=True, slots=True)
class DutchRound:
    """The next round: pairs of (first seat, second seat), best first; 0 is the bye."""

    pairs: tuple[tuple[int, int], ...]
    note: str
    """Which rule had to give way; empty if none."""


def pair_dutch(report: Report, absent: frozenset[int]) -> DutchRound:
    """Pairs all players but the absent ones.

    Where the rules allow no pairing at all, rules give way one after another, so a round is always
    paired: the seats, the prohibited pairs, then encounters before the last round, and so on.
    """
    for note, relaxed in _relaxations(report):
        try:
            return DutchRound(_pair(relaxed, absent), note)
        except PairingError:
            continue
    raise AssertionError("two players can always be paired if nothing is forbidden")


def _relaxations(report: Report) -> Iterator[tuple[str, Report]]:
    yield "", report
    met = frozenset(
        (number, each.opponent)
        for number, player in enumerate(report.players, 1)
        for each in player.rounds
        if number < each.opponent and each.color != "-"
    )
    last = frozenset(
        (number, player.rounds[-1].opponent)
        for number, player in enumerate(report.players, 1)
        if player.rounds and number < player.rounds[-1].opponent
    )
    bare = replace(
        report,
        players=tuple(
            replace(player, rounds=tuple(map(_without_opponent, player.rounds)))
            for player in report.players
        ),
    )
    yield "the seats are uneven", replace(bare, forbidden=report.forbidden | met)
    yield "a prohibited pair meets", replace(bare, forbidden=met)
    yield "some meet again", replace(bare, forbidden=report.forbidden | last)
    yield "some meet again at once", replace(bare, forbidden=frozenset())
    free = replace(
        bare,
        forbidden=frozenset(),
        players=tuple(
            replace(
                player,
                rounds=tuple(
                    replace(each, result=FULL_BYE) if each.result == BYE else each
                    for each in player.rounds
                ),
            )
            for player in bare.players
        ),
    )
    yield "somebody has a second bye", free


def _without_opponent(each: RoundOf) -> RoundOf:
    """Keeps the points of a round and forgets the opponent and the seat."""
    from_points = {"1": FULL_BYE, "=": HALF_BYE, "0": ABSENT, "+": FULL_BYE, "-": ABSENT}
    return RoundOf(0, "-", from_points.get(each.result, each.result))


def _pair(report: Report, absent: frozenset[int]) -> tuple[tuple[int, int], ...]:
    sections = []
    for number, player in enumerate(report.players, 1):
        rounds = [
            RoundResult.model_construct(
                id=each.opponent,
                color=ColorToken(each.color),
                result=ResultToken(each.result),
            )
            for each in player.rounds
        ]
        if number in absent:
            rounds.append(
                RoundResult.model_construct(
                    id=0, color=ColorToken.BYE_OR_NOT_PAIRED, result=ResultToken.ZERO_POINT_BYE
                )
            )
        sections.append(
            PlayerSection.model_construct(
                code=PlayerCode.PLAYER,
                starting_number=number,
                name=player.name,
                points_times_ten=player.points,
                rank=number,
                results=rounds,
            )
        )
    rules = XSection(
        number_of_rounds=report.rounds,
        forbidden_pairs=set(report.forbidden),
        configuration=XSectionConfiguration(first_round_color=report.white_first),
    )
    found = DutchEngine.generate_pairings(ParsedTrf(player_sections=sections, x_section=rules))
    return tuple((pair.white, pair.black) for pair in found)
