"""Pairs the next round of a Swiss tournament by the Dutch system of FIDE, through py4swiss."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from py4swiss.engines.common import PairingError
from py4swiss.trf import ParsedTrf
from py4swiss.trf.codes import PlayerCode
from py4swiss.trf.results import ColorToken, ResultToken, RoundResult
from py4swiss.trf.sections import PlayerSection, XSection
from py4swiss.trf.sections.x_section import XSectionConfiguration

from ladder.tournaments.formats.dutch_engine import CorrectedDutchEngine
from ladder.tournaments.formats.trf import (
    ABSENT,
    BYE,
    FULL_BYE,
    HALF_BYE,
    Report,
    RoundOf,
    renumber,
)


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
            return DutchRound(pair_by_the_rules(relaxed, absent), note)
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
    yield "agents of one team meet", replace(bare, forbidden=met)
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


def with_absent(report: Report, absent: frozenset[int]) -> Report:
    """Returns the report with a bye without points in the next round for each absent player."""
    players = tuple(
        replace(player, rounds=(*player.rounds, RoundOf(0, "-", ABSENT)))
        if number in absent
        else player
        for number, player in enumerate(report.players, 1)
    )
    return replace(report, players=players)


def _first_round(report: Report, came: Sequence[int]) -> tuple[tuple[int, int], ...] | None:
    """Returns the first round: the upper half meets the lower half in order (B.3, E.5).

    None after the first round, and if that joins a prohibited pair. The search would find the same
    pairs, but needs long for many players.
    """
    half = len(came) // 2
    halves = list(zip(came[:half], came[half:], strict=False))
    if any(player.rounds for player in report.players) or report.forbidden & set(halves):
        return None
    pairs = [
        (one, two) if (n % 2 == 0) == report.white_first else (two, one)
        for n, (one, two) in enumerate(halves)
    ]
    return (*pairs, *((each, 0) for each in came[2 * half :]))


def pair_by_the_rules(report: Report, absent: frozenset[int]) -> tuple[tuple[int, int], ...]:
    """Returns the pairs of the next round; raises PairingError if the rules allow none.

    Who never came has no pairing number (FIDE Handbook C.04.2, late entries), so the colors of the
    others do not depend on it.
    """
    came = [
        number
        for number, player in enumerate(report.players, 1)
        if number not in absent or any(each.result != ABSENT for each in player.rounds)
    ]
    simple = _first_round(report, came)
    if simple is not None:
        return simple
    numbers = {old: new for new, old in enumerate(came, 1)}
    sections = [
        PlayerSection.model_construct(
            code=PlayerCode.PLAYER,
            starting_number=numbers[number],
            name=player.name,
            points_times_ten=player.points,
            rank=numbers[number],
            results=[
                RoundResult.model_construct(
                    id=numbers.get(each.opponent, 0),
                    color=ColorToken(each.color),
                    result=ResultToken(each.result),
                )
                for each in player.rounds
            ],
        )
        for number, player in enumerate(with_absent(report, absent).players, 1)
        if number in numbers
    ]
    rules = XSection(
        number_of_rounds=report.rounds,
        forbidden_pairs=set(renumber(sorted(report.forbidden), numbers)),
        configuration=XSectionConfiguration(first_round_color=report.white_first),
    )
    parsed = ParsedTrf(player_sections=sections, x_section=rules)
    found = CorrectedDutchEngine.generate_pairings(parsed)
    return tuple(
        (came[pair.white - 1], came[pair.black - 1] if pair.black else 0) for pair in found
    )
