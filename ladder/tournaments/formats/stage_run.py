"""Runs one stage: its field and what happened so far, and the state of each pairing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field
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
)
from ladder.tournaments.formats.series import Duel, HeatMeeting, judge_heat, judge_series


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
