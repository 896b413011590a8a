"""Runs one stage: its field, what happened so far, and the state of each pairing.

A pairing is a series of two entrants, a heat of more, or games for one. In each game of a heat,
every entrant moves on by one seat. The games in which each entrant has had each seat once share one
game seed. An entrant that withdraws during a round still plays its heat to the end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from decimal import Decimal
from fractions import Fraction
from functools import cached_property

from ladder.tournaments.formats.plan import HeatRules, Series, Stage
from ladder.tournaments.formats.records import (
    By,
    Event,
    Game,
    Key,
    Origin,
    Outcome,
    PairedRound,
    Pairing,
    Position,
    Progress,
    State,
    Takes,
    WantedGame,
    exact,
    game_seed,
)


@dataclass(frozen=True, slots=True)
class Place:
    """What a pairing is besides its entrants."""

    key: Key
    section: str
    title: str
    reason: str
    origins: tuple[Origin, ...] = ()


@dataclass(frozen=True)
class StageCourse:
    """The pairings of a stage so far."""

    pairings: tuple[Pairing, ...]
    finished: bool
    paired: Mapping[Position, PairedRound] = dataclass_field(default_factory=dict)
    """Rounds whose pairing is worth keeping."""


@dataclass(frozen=True)
class StageRun:
    """A stage that has begun."""

    event: Event
    progress: Progress
    stage: Stage
    number: int
    """From 1."""
    field: tuple[int, ...]
    """In the seed order of the stage."""
    paired: dict[Position, PairedRound] = dataclass_field(default_factory=dict)
    """Filled while the stage runs: rounds whose pairing is worth keeping."""

    @cached_property
    def seeds(self) -> dict[int, int]:
        """Seed of each entrant within the stage, from 1."""
        return {entrant: n for n, entrant in enumerate(self.field, 1)}

    def gone_after(self, entrant: int) -> int | None:
        """Returns the last round that was paired when the entrant withdrew; None if it is here."""
        position = self.progress.withdrawn.get(entrant)
        if position is None or position[0] > self.number:
            return None
        return position[1] if position[0] == self.number else 0

    def here(self, round: int) -> list[int]:
        """Returns the entrants who are paired in this round, in seed order."""
        return [
            entrant
            for entrant in self.field
            if (last := self.gone_after(entrant)) is None or last >= round
        ]

    def known_round(self, round: int, basis: str) -> PairedRound | None:
        """Returns the round as it was paired before, if it depended on the same things."""
        published = self.progress.published.get((self.number, round))
        return published if published is not None and published.basis == basis else None

    def label(self, purpose: str) -> str:
        """Returns the label of a draw in this stage."""
        return f"stage {self.number}/{purpose}"

    def games(self, key: Key, entrants: Sequence[int]) -> list[Game]:
        """Returns the accepted games of a pairing with these entrants."""
        numbers = sorted(entrants)
        return [
            game for game in self.progress.results.get(key, ()) if sorted(game.entrants) == numbers
        ]

    def duel(
        self, place: Place, entrants: tuple[int, int], rules: Series, *, needs_winner: bool
    ) -> Pairing:
        """Returns a pairing of two entrants with its outcome or the games to play."""
        better = min(entrants, key=self.seeds.__getitem__)
        duel = Duel(place.key, entrants, rules, needs_winner, better, self.event.seed)
        judged = judge_series(duel, self.games(place.key, entrants))
        outcome, planned = judged.outcome, judged.wanted
        gone = [entrant for entrant in entrants if self.gone_after(entrant) is not None]
        if outcome is None and gone:
            later = set(self.here(place.key.round + 1))
            gone = [entrant for entrant in gone if entrant not in later] or gone
            outcome, planned = self._walk_over(entrants, gone, needs_winner), ()
        state = State.READY if outcome is None else State.FINISHED
        return self.pairing(place, entrants, state, outcome, wanted=planned)

    def _walk_over(self, entrants: tuple[int, int], gone: list[int], needs_winner: bool) -> Outcome:
        """Returns the outcome of a series that is not finished, by who left up to its round.

        So a walk-over stays as it was when the winner leaves too, and with it all later rounds.
        """
        winner, loser = entrants
        if len(gone) == 1:
            order = (loser, winner) if gone[0] == winner else (winner, loser)
            return Outcome(order, (1.0, 0.0), (0.0, 0.0), By.WALK_OVER, "walk-over")
        when = self.progress.withdrawn
        first = min(
            entrants, key=lambda entrant: ([-part for part in when[entrant]], self.seeds[entrant])
        )
        order = (first, loser if first == winner else winner)
        if needs_winner:
            text = "both withdrew; the one who stayed longer goes on"
            return Outcome(order, (1.0, 0.0), (0.0, 0.0), By.WALK_OVER, text)
        return Outcome(order, (0.0, 0.0), (0.0, 0.0), By.WALK_OVER, "both withdrew")

    def bye(self, place: Place, entrant: int) -> Pairing:
        """Returns a pairing without an opponent, which counts as won."""
        outcome = Outcome((entrant,), (1.0,), (0.0,), By.BYE, "bye")
        return self.pairing(place, (entrant,), State.FINISHED, outcome)

    def waiting(self, place: Place, entrants: tuple[int | None, ...]) -> Pairing:
        """Returns a pairing whose entrants are not all known."""
        return self.pairing(place, entrants, State.WAITING)

    def void(self, place: Place, entrants: tuple[int, ...] = ()) -> Pairing:
        """Returns a pairing that will not be played."""
        return self.pairing(place, entrants, State.VOID)

    def heat(self, place: Place, entrants: tuple[int, ...], rules: HeatRules) -> Pairing:
        """Returns a heat; the order of the entrants is that of the seats in the first game.

        Who withdraws during a round plays its heat to the end, because the others need its seat.
        """
        meeting = HeatMeeting(place.key, entrants, rules, self.event.seed)
        judged = judge_heat(meeting, self.games(place.key, entrants), self.seeds)
        state = State.READY if judged.outcome is None else State.FINISHED
        return self.pairing(place, entrants, state, judged.outcome, wanted=judged.wanted)

    def pairing(
        self,
        place: Place,
        entrants: tuple[int | None, ...],
        state: State,
        outcome: Outcome | None = None,
        *,
        wanted: tuple[WantedGame, ...] = (),
    ) -> Pairing:
        origins = place.origins or tuple(
            Origin(Takes.SEED, self.seeds[entrant]) for entrant in entrants if entrant is not None
        )
        return Pairing(
            place.key,
            place.section,
            place.title,
            entrants,
            origins,
            state,
            place.reason,
            outcome,
            wanted,
        )


def is_finished(pairings: Sequence[Pairing]) -> bool:
    """Whether nothing is left to play."""
    return all(pairing.state in (State.FINISHED, State.VOID) for pairing in pairings)


@dataclass(frozen=True, slots=True)
class SeriesState:
    """A series after some games: either an outcome or games to play."""

    outcome: Outcome | None
    wanted: tuple[WantedGame, ...]


@dataclass(frozen=True, slots=True)
class Duel:
    """Two entrants and the rules of their series."""

    key: Key
    entrants: tuple[int, int]
    """The first has the first seat in the first game."""
    rules: Series
    needs_winner: bool
    better_seed: int
    seed: bytes


def judge_series(duel: Duel, games: Sequence[Game]) -> SeriesState:
    """Returns the outcome if the games decide the series, else the games that it still needs."""
    played = {game.number: game for game in games}
    rules, points = duel.rules, {member: 0.0 for member in duel.entrants}
    most = rules.pairs + (rules.more_pairs if duel.needs_winner else 0)
    complete = 0
    while complete < most:
        pair = [played.get(2 * complete + half) for half in (1, 2)]
        if None in pair:
            break
        for game in pair:
            assert game is not None
            for entrant, gained in _game_points(game).items():
                points[entrant] += gained
        complete += 1
        if _decided(duel, points, complete):
            return SeriesState(_outcome(duel, points, complete), ())
    if complete == most:
        return SeriesState(_outcome(duel, points, complete), ())
    needed = _needed_pairs(duel, points, complete)
    planned = tuple(
        wanted_game(duel, number)
        for number in range(2 * complete + 1, 2 * (complete + needed) + 1)
        if number not in played
    )
    return SeriesState(None, planned)


def wanted_game(duel: Duel, number: int) -> WantedGame:
    """Returns the game with this number. Odd numbers give the first entrant the first seat."""
    seats = duel.entrants if number % 2 else duel.entrants[::-1]
    seed = game_seed(duel.seed, f"{duel.key}/{(number + 1) // 2}")
    return WantedGame(number, seats, seed)


def _game_points(game: Game) -> dict[int, float]:
    (white, black), (first, second) = game.entrants, game.places
    gained = 0.5 if first == second else 1.0 if first < second else 0.0
    return {white: gained, black: 1.0 - gained}


def _decided(duel: Duel, points: dict[int, float], complete: int) -> bool:
    first, second = points.values()
    left = duel.rules.pairs - complete
    if left > 0:
        return duel.rules.stop_when_decided and abs(first - second) > 2 * left
    return first != second or not duel.needs_winner


def _needed_pairs(duel: Duel, points: dict[int, float], complete: int) -> int:
    """Returns how many pairs must be played in any case; they can run at the same time."""
    left = duel.rules.pairs - complete
    if left <= 0:
        return 1
    if not duel.rules.stop_when_decided:
        return left
    first, second = points.values()
    lead = abs(first - second)
    return next(more for more in range(1, left + 1) if lead + 2 * more > 2 * (left - more))


def _outcome(duel: Duel, points: dict[int, float], complete: int) -> Outcome:
    upper, lower = duel.entrants
    level = points[upper] == points[lower]
    by = By.MORE_GAMES if complete > duel.rules.pairs else By.GAMES
    if level and duel.needs_winner:
        by = By.SEED
    first = upper if points[upper] > points[lower] else lower
    if level:
        first = duel.better_seed
    order = (first, lower if first == upper else upper)
    gained = (points[order[0]], points[order[1]])
    score = f"{gained[0]:g} : {gained[1]:g}"
    text = {
        By.GAMES: f"{score} in games",
        By.MORE_GAMES: f"{score} after more games",
        By.SEED: f"{score} in games; the better seed goes on",
    }[by]
    shared = level and not duel.needs_winner
    return Outcome(order, (0.5, 0.5) if shared else (1.0, 0.0), gained, by, text)


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
    exact_points = {member: Fraction() for member in meeting.entrants}
    firsts = {member: 0 for member in meeting.entrants}
    for number in sorted(played):
        for entrant, gained in placement_points(played[number], meeting).items():
            exact_points[entrant] += exact(gained)
        for entrant, place in zip(played[number].entrants, played[number].places, strict=True):
            firsts[entrant] += place == 1
    points = {member: float(value) for member, value in exact_points.items()}
    order = tuple(
        sorted(
            meeting.entrants,
            key=lambda member: (-points[member], -firsts[member], seeds[member]),
        )
    )
    scores = tuple(points[member] for member in order)
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
