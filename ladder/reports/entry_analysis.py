"""Analyses an entry's games for its owner: opponents, seats, surprises, games still needed.

Pure; scores and sigmas are in points.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from math import ceil, erf, sqrt
from statistics import fmean, median
from typing import Annotated, Final

from pydantic import Field

from estimates.intervals import Z95
from ladder.field_types import RECORD
from ladder.ids import AgentId, EntryId, MatchId
from ladder.matches.pairing.information_gain import fisher_information
from ladder.ratings.rating_updates import Rating

NEAR: Final = 0.5
"""Beta: opponents within this are equally strong. An opponent this far ahead wins 64 of 100 duels.
"""
SURPRISE: Final = 1 / 3
"""A result with a lower chance than this is an upset."""
DONE: Final = "DONE"


class RelativeStrength(StrEnum):
    """Strength of an opponent by current scores."""

    STRONGER = "stronger"
    """Ahead by more than ``entry_analysis.NEAR``."""
    NEAR = "near"
    """Within ``entry_analysis.NEAR``."""
    WEAKER = "weaker"
    """Behind by more than ``entry_analysis.NEAR``."""


@dataclass(frozen=True, slots=True)
class OtherSeat:
    """Another seat of a match."""

    entry_id: EntryId
    agent_id: AgentId
    placement: int
    reward: float | None
    verdict: str


@dataclass(frozen=True, slots=True)
class PlayedMatch:
    """A rated match of the entry."""

    match_id: MatchId
    at: datetime
    seat: int
    placement: int
    reward: float | None
    verdict: str
    charged_seconds: float
    max_move_seconds: float
    rivals: tuple[OtherSeat, ...]


@dataclass(frozen=True, slots=True)
class Duel:
    """A meeting with one opponent."""

    game: PlayedMatch
    rival: OtherSeat
    apart: float
    """Lead of the opponent in beta, by current scores."""
    expected: float
    """Expected score: the chance of a better placement plus half the chance of a tie."""
    won: float
    """1 for a win, 0 for a loss, one half for a tie."""

    @property
    def has_fault(self) -> bool:
        """Whether either agent had a fault. Shares and upsets leave such duels out."""
        return self.game.verdict != DONE or self.rival.verdict != DONE


@dataclass(frozen=True, slots=True)
class OpponentRecord:
    """All games against one opponent agent, counted by placement."""

    __pydantic_config__ = RECORD
    agent_id: AgentId
    games: int
    better: int
    tied: int
    worse: int
    reward_difference: float | None
    """Mean own reward minus the opponent's; null if the game gives no rewards."""
    agent_name: str = ""
    team_name: str = ""
    team_id: Annotated[str, Field(exclude=True)] = ""


@dataclass(frozen=True, slots=True)
class WinShare:
    """Duels without a fault on either side. A tie counts half."""

    __pydantic_config__ = RECORD
    duels: int
    with_fault: int
    """Further duels, which are left out because either agent had a fault."""
    expected: float | None
    """Expected share of wins, by current scores; null without duels."""
    actual: float | None
    """Share of wins; null without duels."""


@dataclass(frozen=True, slots=True)
class SeatWinShare:
    """Results in one seat."""

    __pydantic_config__ = RECORD
    seat: int
    games: int
    mean_placement: float
    share: WinShare


@dataclass(frozen=True, slots=True)
class Upset:
    """A duel whose winner has the lower score now."""

    __pydantic_config__ = RECORD
    match_id: MatchId
    at: datetime
    agent_id: AgentId
    expected: float
    """Probability of this outcome, by the current scores."""
    agent_name: str = ""
    team_name: str = ""
    team_id: Annotated[str, Field(exclude=True)] = ""


@dataclass(frozen=True, slots=True)
class TimeSummary:
    """Charged times."""

    __pydantic_config__ = RECORD
    match_median_seconds: float
    match_p99_seconds: float
    slowest_move_median_seconds: float
    """Median of the slowest moves of the matches."""
    slowest_move_p99_seconds: float
    slowest_move_max_seconds: float
    act_seconds: float
    """Free seconds for each move, by the season's clock."""


def expected_score(own: Rating, other: Rating, beta: float) -> float:
    """Returns the chance of a better placement than this opponent; a tie counts half."""
    spread = sqrt(2 * beta**2 + own.sigma**2 + other.sigma**2)
    return 0.5 * (1 + erf((own.mu - other.mu) / spread / sqrt(2)))


def head_to_head(games: Iterable[PlayedMatch]) -> list[OpponentRecord]:
    """Returns a row for each opponent, most frequent first."""
    met: dict[AgentId, list[tuple[int, float | None]]] = defaultdict(list)
    for game in games:
        for rival in game.rivals:
            met[rival.agent_id].append(
                (
                    _sign(rival.placement - game.placement),
                    _score_difference(game.reward, rival.reward),
                )
            )
    rows = []
    for agent, duels in met.items():
        apart = [difference for _, difference in duels if difference is not None]
        signs = [sign for sign, _ in duels]
        rows.append(
            OpponentRecord(
                agent_id=agent,
                games=len(duels),
                better=signs.count(1),
                tied=signs.count(0),
                worse=signs.count(-1),
                reward_difference=fmean(apart) if apart else None,
            )
        )
    return sorted(rows, key=lambda row: (-row.games, row.agent_id))


def duels(
    games: Iterable[PlayedMatch], own: Rating, scores: Mapping[EntryId, Rating], beta: float
) -> list[Duel]:
    """Returns all meetings; ``scores`` are the opponents'."""
    found = []
    chances = {entry: expected_score(own, score, beta) for entry, score in scores.items()}
    for game in games:
        for rival in game.rivals:
            if rival.entry_id in scores:
                apart = (scores[rival.entry_id].mu - own.mu) / beta
                won = (1 + _sign(rival.placement - game.placement)) / 2
                found.append(Duel(game, rival, apart, chances[rival.entry_id], won))
    return found


def shares_by_strength(fought: Iterable[Duel]) -> dict[RelativeStrength, WinShare]:
    """Returns expected and actual share against stronger, near and weaker opponents."""
    kinds: dict[RelativeStrength, list[Duel]] = {kind: [] for kind in RelativeStrength}
    for duel in fought:
        kind = RelativeStrength.NEAR
        if duel.apart > NEAR:
            kind = RelativeStrength.STRONGER
        elif duel.apart < -NEAR:
            kind = RelativeStrength.WEAKER
        kinds[kind].append(duel)
    return {kind: _win_share(found) for kind, found in kinds.items()}


def shares_by_seat(games: Iterable[PlayedMatch], fought: Iterable[Duel]) -> list[SeatWinShare]:
    """Returns a row for each seat that was played."""
    placements: dict[int, list[int]] = defaultdict(list)
    here: dict[int, list[Duel]] = defaultdict(list)
    for game in games:
        placements[game.seat].append(game.placement)
    for duel in fought:
        here[duel.game.seat].append(duel)
    return [
        SeatWinShare(seat, len(placed), fmean(placed), _win_share(here[seat]))
        for seat, placed in sorted(placements.items())
    ]


def upsets(fought: Iterable[Duel], most: int) -> tuple[list[Upset], list[Upset]]:
    """Returns surprising wins and surprising losses, most surprising first."""
    won: list[Upset] = []
    lost: list[Upset] = []
    for duel in fought:
        if duel.has_fault:
            continue
        chance, found = (duel.expected, won) if duel.won == 1.0 else (1 - duel.expected, lost)
        if duel.won != 0.5 and chance < SURPRISE:
            game = duel.game
            found.append(Upset(game.match_id, game.at, duel.rival.agent_id, chance))
    won.sort(key=lambda upset: upset.expected)
    lost.sort(key=lambda upset: upset.expected)
    return won[:most], lost[:most]


def time_summary(games: Sequence[PlayedMatch], act_seconds: float) -> TimeSummary | None:
    """Returns times of matches and of their slowest moves; None without a match."""
    if not games:
        return None
    matches = sorted(game.charged_seconds for game in games)
    moves = sorted(game.max_move_seconds for game in games)
    return TimeSummary(
        match_median_seconds=median(matches),
        match_p99_seconds=_percentile_99(matches),
        slowest_move_median_seconds=median(moves),
        slowest_move_p99_seconds=_percentile_99(moves),
        slowest_move_max_seconds=moves[-1],
        act_seconds=act_seconds,
    )


def opponent_repetition(opponents: Iterable[OpponentRecord]) -> tuple[float, float]:
    """Returns the sum of squared shares of each opponent in the meetings.

    The first value is the current one, the second its limit after many more meetings of the same
    mixture.
    """
    counts = [met.games for met in opponents]
    total, squares = sum(counts), sum(count * count for count in counts)
    if total < 2:
        return float(total), 0.0
    return squares / total**2, (squares - total) / (total * (total - 1))


def games_left(
    sigma: float,
    within: float,
    *,
    beta: float,
    seats: int,
    strays: float = 0.0,
    repeated: tuple[float, float] = (0.0, 0.0),
) -> int | None:
    """Returns the games until the score is expected to have an error within ``within`` points.

    The confidence is 95 %. Each game adds its information to the precision. ``strays`` is the
    variance of a pair's own advantage, in beta squared. Sigma includes it in proportion to
    ``repeated`` opponents, and games do not remove it. None: never.
    """
    now, lasting = (strays * share for share in repeated)
    variance, wanted = (sigma / beta) ** 2, (within / Z95 / beta) ** 2
    if variance <= wanted:
        return 0
    has, wanted = variance - now, wanted - lasting
    per_game = fisher_information(seats)
    if wanted <= 0 or per_game <= 0:
        return None
    if has <= wanted:
        return 1
    return ceil((1 / wanted - 1 / has) / per_game)


def _win_share(fought: Sequence[Duel]) -> WinShare:
    whole = [duel for duel in fought if not duel.has_fault]
    return WinShare(
        len(whole),
        len(fought) - len(whole),
        fmean(duel.expected for duel in whole) if whole else None,
        fmean(duel.won for duel in whole) if whole else None,
    )


def _sign(difference: int) -> int:
    return (difference > 0) - (difference < 0)


def _score_difference(own: float | None, other: float | None) -> float | None:
    return None if own is None or other is None else own - other


def _percentile_99(ordered: Sequence[float]) -> float:
    """Returns the least value that 99 of 100 do not exceed."""
    return ordered[ceil(0.99 * len(ordered)) - 1]
