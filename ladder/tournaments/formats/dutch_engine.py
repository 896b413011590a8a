"""The Dutch engine of py4swiss with one correction: criterion C.7 before the last bracket.

C.7 chooses downfloaters so that the following bracket has the most pairs. If that is the last
bracket, one of its players may be left for the bye, and C.2 says who may have it. py4swiss looks
ahead without C.2: it can count on a pair that leaves a player who already had the bye. Then the bye
goes to a higher score than necessary.

Here pairs of players who may not have the bye weigh more, as in bbpPairings. Source: FIDE Handbook
C.04.3, C.2 and C.7 (until 31 January 2026).
"""

from __future__ import annotations

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


class _ValidityMatcher(ValidityMatcher):
    """Asks the same of each two players (C.1, C.3, prohibited pairs), in a quarter of the time."""

    def __init__(self, players: list[Player], forbidden_pairs: set[tuple[int, int]]) -> None:
        self._forbidden = forbidden_pairs | {(two, one) for one, two in forbidden_pairs}
        self._absolute_sides = {
            player.id: player.color_preference.side
            for player in players
            if player.color_preference.strength == ColorPreferenceStrength.ABSOLUTE
            and not player.top_scorer
        }
        super().__init__(players, forbidden_pairs)

    def is_allowed_pair(self, player_1: Player, player_2: Player) -> bool:
        one, two = player_1.id, player_2.id
        if one in player_2.opponents or (one, two) in self._forbidden:
            return False
        side = self._absolute_sides.get(one)
        return side is None or side != self._absolute_sides.get(two)


class _Matcher(BracketMatcher):
    """Adds to the weights of C.7 who may have the bye.

    A weight depends on few properties of two players, so equal ones are computed once.
    """

    def __init__(self, bracket: Bracket, validity: ValidityMatcher, lower_is_last: bool) -> None:
        special = bracket.penultimate_pairing_bracket or bracket.last_pairing_bracket
        self._looks_at_byes = lower_is_last and not special
        at = QUALITY_CRITERIA.index(C7)
        shifts = [each.get_shift(bracket) for each in QUALITY_CRITERIA]
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
            found = cls._get_bracket_pairs(pairer)
            if found is None:
                brackets.collapse()
            else:
                brackets.apply_bracket_pairings(found)
                pairs += found
        pairs.sort(key=cls._get_player_pair_score, reverse=True)
        return [cls._get_pairing(pair) for pair in pairs]
