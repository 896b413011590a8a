"""Judges a heat: a pairing of more than two entrants, and games for one.

In each game of a heat, every entrant moves on by one seat; a whole turn shares one game seed.
Who withdraws during a round plays its heat to the end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from ladder.tournaments.formats.decimals import exact
from ladder.tournaments.formats.draw import game_seed
from ladder.tournaments.formats.plan import HeatRules
from ladder.tournaments.formats.records import By, Game, Key, Outcome, WantedGame


@dataclass(frozen=True, slots=True)
class HeatMeeting:
    """The entrants and rules of a heat."""

    key: Key
    entrants: tuple[int, ...]
    """By seat in the first game."""
    rules: HeatRules
    seed: bytes


@dataclass(frozen=True, slots=True)
class HeatState:
    """A heat after some games: either an outcome or games to play."""

    outcome: Outcome | None
    wanted: tuple[WantedGame, ...]


def judge_heat(meeting: HeatMeeting, games: Sequence[Game], seeds: Mapping[int, int]) -> HeatState:
    """Returns the outcome if all games are played, else those that are left.

    Equal points are ordered by firsts, then by ``seeds``.
    """
    played = {game.number: game for game in games if game.number <= meeting.rules.games}
    left = [n for n in range(1, meeting.rules.games + 1) if n not in played]
    if left:
        return HeatState(None, tuple(_wanted_game(meeting, number) for number in left))
    exact_points = {each: Fraction() for each in meeting.entrants}
    firsts = {each: 0 for each in meeting.entrants}
    for number in sorted(played):
        for entrant, gained in placement_points(played[number], meeting).items():
            exact_points[entrant] += exact(gained)
        for entrant, place in zip(played[number].entrants, played[number].places, strict=True):
            firsts[entrant] += place == 1
    points = {each: float(value) for each, value in exact_points.items()}
    order = tuple(
        sorted(
            meeting.entrants,
            key=lambda each: (-points[each], -firsts[each], seeds[each]),
        )
    )
    scores = tuple(points[each] for each in order)
    text = " : ".join(f"{value:g}" for value in scores) + " points"
    return HeatState(Outcome(order, scores, scores, By.GAMES, text), ())


def placement_points(game: Game, meeting: HeatMeeting) -> dict[int, float]:
    """Returns the points of each entrant; ties share."""
    seats = len(game.entrants)
    scale = meeting.rules.points or tuple(range(seats - 1, -1, -1))
    points = {}
    for entrant, place in zip(game.entrants, game.places, strict=True):
        better = sum(other < place for other in game.places)
        level = game.places.count(place)
        points[entrant] = sum(scale[better : better + level]) / level
    return points


def _wanted_game(meeting: HeatMeeting, number: int) -> WantedGame:
    seats = len(meeting.entrants)
    turn, shift = divmod(number - 1, seats)
    entrants = tuple(meeting.entrants[(seat - shift) % seats] for seat in range(seats))
    return WantedGame(number, entrants, game_seed(meeting.seed, f"{meeting.key}/{turn + 1}"))


def judge_solo(key: Key, entrant: int, games: Sequence[Game], rules: SoloRules) -> HeatState:
    """Returns the sum of rewards if all games are played, else the games that are left.

    All entrants play the same seeds in a round.
    """
    played = {game.number: game for game in games if game.number <= rules.games}
    total = float(sum(Decimal(str((game.rewards or (0.0,))[0])) for game in played.values()))
    if len(played) == rules.games:
        outcome = Outcome((entrant,), (total,), (total,), By.GAMES, f"reward {total:g}")
        return HeatState(outcome, ())
    if rules.gone:
        return HeatState(Outcome((entrant,), (total,), (total,), By.WALK_OVER, "withdrew"), ())
    return HeatState(
        None,
        tuple(
            WantedGame(n, (entrant,), game_seed(rules.seed, f"{key.stage}.{key.round}/{n}"))
            for n in range(1, rules.games + 1)
            if n not in played
        ),
    )


@dataclass(frozen=True, slots=True)
class SoloRules:
    """The games of one entrant in a round."""

    games: int
    seed: bytes
    gone: bool
