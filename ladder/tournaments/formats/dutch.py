"""Pairs the next round of a Swiss tournament by the Dutch system of FIDE, through py4swiss."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from py4swiss.dynamicuint import DynamicUint
from py4swiss.engines import DutchEngine
from py4swiss.engines.common import ColorPreferenceStrength, Pairing, PairingError
from py4swiss.engines.dutch.bracket import BracketPairer, Brackets
from py4swiss.engines.dutch.bracket.bracket import Bracket
from py4swiss.engines.dutch.bracket.bracket_matcher import BracketMatcher
from py4swiss.engines.dutch.criteria import QUALITY_CRITERIA
from py4swiss.engines.dutch.criteria.quality import C7
from py4swiss.engines.dutch.player import Player, PlayerRole, get_player_infos_from_trf
from py4swiss.engines.dutch.validity_matcher import ValidityMatcher
from py4swiss.trf import ParsedTrf
from py4swiss.trf.codes import PlayerCode
from py4swiss.trf.results import ColorToken, ResultToken, RoundResult
from py4swiss.trf.sections import PlayerSection, XSection
from py4swiss.trf.sections.x_section import XSectionConfiguration

from ladder.tournaments.formats.trf import (
    ABSENT,
    BYE,
    FULL_BYE,
    HALF_BYE,
    Report,
    RoundOf,
    renumber,
)


class _ValidityMatcher(ValidityMatcher):
    """Asks the same of each two players (C.1, C.3, prohibited pairs), in a quarter of the time."""

    def __init__(self, players: list[Player], forbidden_pairs: set[tuple[int, int]]) -> None:
        self._forbidden = forbidden_pairs | {(second, first) for first, second in forbidden_pairs}
        self._absolute_sides = {
            player.id: player.color_preference.side
            for player in players
            if player.color_preference.strength == ColorPreferenceStrength.ABSOLUTE
            and not player.top_scorer
        }
        super().__init__(players, forbidden_pairs)

    def is_allowed_pair(self, player_1: Player, player_2: Player) -> bool:
        first, second = player_1.id, player_2.id
        if first in player_2.opponents or (first, second) in self._forbidden:
            return False
        side = self._absolute_sides.get(first)
        return side is None or side != self._absolute_sides.get(second)


class _Matcher(BracketMatcher):
    """Adds to the weights of C.7 who may have the bye.

    A weight depends on few properties of two players, so equal ones are computed once.
    """

    def __init__(self, bracket: Bracket, validity: ValidityMatcher, lower_is_last: bool) -> None:
        special = bracket.penultimate_pairing_bracket or bracket.last_pairing_bracket
        self._looks_at_byes = lower_is_last and not special
        at = QUALITY_CRITERIA.index(C7)
        shifts = [criterion.get_shift(bracket) for criterion in QUALITY_CRITERIA]
        self._bye_shift = sum(shifts[at:]) - bracket.low_bracket_bits + 3 * bracket.bracket_bits + 1
        self._bye_bits = max(0, bracket.bracket_bits - bracket.low_bracket_bits) + 3
        self._above_shift = sum(shifts[at:]) + 3 * bracket.bracket_bits + 1
        self._kinds: dict[int, object] = {}
        self._known: dict[tuple[object, object], DynamicUint] = {}
        super().__init__(bracket, validity)

    def _get_max_weight(self) -> DynamicUint:
        weight = super()._get_max_weight()
        if self._looks_at_byes:
            weight.shift_grow(self._bye_bits + 2)  # the matching needs two bits above the weights
            weight |= (1 << self._bye_bits + 2) - 1
            weight >>= 2
        return weight

    def _get_weight(self, player_1: Player, player_2: Player) -> DynamicUint:
        if not self._validity_matcher.is_allowed_pair(player_1, player_2):
            return DynamicUint(self._zero_weight)
        kinds = self._kind(player_1), self._kind(player_2)
        if kinds not in self._known:
            self._known[kinds] = self._new_weight(player_1, player_2)
        return DynamicUint(self._known[kinds])

    def _kind(self, player: Player) -> object:
        """Returns all that the criteria C.5 to C.19 read of a player."""
        kind = self._kinds.get(player.id)
        if kind is None:
            kind = self._kinds[player.id] = (
                player.role,
                player.points_with_acceleration,
                player.color_preference.side,
                player.color_preference.strength,
                player.color_difference,
                player.color_double,
                player.float_1,
                player.float_2,
                player.bye_received,
                player.top_scorer,
            )
        return kind

    def _new_weight(self, player_1: Player, player_2: Player) -> DynamicUint:
        weight = super()._get_weight(player_1, player_2)
        if not self._looks_at_byes:
            return weight
        above = weight >> self._above_shift
        below = weight - (above << self._above_shift)
        pairs_of_next = self._zero_weight | int(player_2.role == PlayerRole.LOWER)
        below -= pairs_of_next << self._bye_shift
        byes = self._zero_weight | (1 + player_1.bye_received + player_2.bye_received)
        return (above << (self._above_shift + self._bye_bits)) + (byes << self._bye_shift) + below


class _Pairer(BracketPairer):
    """Pairs a bracket with these weights."""

    def __init__(
        self, bracket: Bracket, validity: ValidityMatcher, white_first: bool, lower_is_last: bool
    ) -> None:
        self._bracket = bracket
        self._validity_matcher = validity
        self._initial_color = white_first
        self._num = len(bracket.mdp_list + bracket.resident_list + bracket.lower_list)
        self._bracket_matcher = _Matcher(bracket, validity, lower_is_last)
        self._heterogeneous_s1 = []
        self._heterogeneous_s2 = []
        self._homogeneous_s1 = []
        self._homogeneous_s2 = []
        self._exchanges = 0


class _Brackets(Brackets):
    """Knows whether the bracket after the current one is the last."""

    @property
    def lower_is_last(self) -> bool:
        return self._index + 2 == len(self._brackets)


class CorrectedDutchEngine(DutchEngine):
    """Pairs the next round; raises PairingError if the rules allow none."""

    @classmethod
    def generate_pairings(cls, trf: ParsedTrf) -> list[Pairing]:
        """Returns the pairs of the next round, best first."""
        played = min(len(section.results) for section in trf.player_sections)
        players = sorted(get_player_infos_from_trf(trf), reverse=True)
        validity = _ValidityMatcher(players, trf.x_section.forbidden_pairs)
        if not validity.is_valid_matching():
            raise PairingError("the rules allow no pairing")
        brackets = _Brackets(players, played + 1)
        white_first = trf.x_section.configuration.first_round_color
        pairs: list[tuple[Player, Player]] = []
        while not brackets.is_finished():
            pairer = _Pairer(
                brackets.get_current_bracket(), validity, white_first, brackets.lower_is_last
            )
            bracket_pairs = cls._get_bracket_pairs(pairer)
            if bracket_pairs is None:
                brackets.collapse()
            else:
                brackets.apply_bracket_pairings(bracket_pairs)
                pairs += bracket_pairs
        pairs.sort(key=cls._get_player_pair_score, reverse=True)
        return [cls._get_pairing(pair) for pair in pairs]


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
        (number, played.opponent)
        for number, player in enumerate(report.players, 1)
        for played in player.rounds
        if number < played.opponent and played.color != "-"
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
                    replace(played, result=FULL_BYE) if played.result == BYE else played
                    for played in player.rounds
                ),
            )
            for player in bare.players
        ),
    )
    yield "somebody has a second bye", free


def _without_opponent(played: RoundOf) -> RoundOf:
    """Keeps the points of a round and forgets the opponent and the seat."""
    from_points = {"1": FULL_BYE, "=": HALF_BYE, "0": ABSENT, "+": FULL_BYE, "-": ABSENT}
    return RoundOf(0, "-", from_points.get(played.result, played.result))


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
        (first, second) if (n % 2 == 0) == report.white_first else (second, first)
        for n, (first, second) in enumerate(halves)
    ]
    return (*pairs, *((member, 0) for member in came[2 * half :]))


def pair_by_the_rules(report: Report, absent: frozenset[int]) -> tuple[tuple[int, int], ...]:
    """Returns the pairs of the next round; raises PairingError if the rules allow none.

    Who never came has no pairing number (FIDE Handbook C.04.2, late entries), so the colors of the
    others do not depend on it.
    """
    came = [
        number
        for number, player in enumerate(report.players, 1)
        if number not in absent or any(played.result != ABSENT for played in player.rounds)
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
                    id=numbers.get(played.opponent, 0),
                    color=ColorToken(played.color),
                    result=ResultToken(played.result),
                )
                for played in player.rounds
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
    paired = CorrectedDutchEngine.generate_pairings(parsed)
    return tuple(
        (came[pair.white - 1], came[pair.black - 1] if pair.black else 0) for pair in paired
    )
