"""Plays one random game for the conformance check.

Each step is done twice. The whole game is played again and replayed.
"""

from __future__ import annotations

import math
import random as global_random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from random import Random
from typing import Any, Final

from games.board_frames import parse_frame, uses_format
from games.episode import Episode, EpisodeError, Step, from_bytes, states, to_bytes
from games.protocol import (
    Game,
    GameError,
    InvalidMove,
    Json,
    Outcome,
    Verdict,
    canonical_json,
    json_flaw,
    placements_from_scores,
)

MOST_PLACES: Final = 3
"""Most places reported for one broken promise."""


class GameUnplayable(Exception):
    """The game cannot go on. The findings have the reason."""


@dataclass
class Findings:
    """Collects broken promises. Knows the current place in the play."""

    where: str = ""
    broken: dict[str, list[str]] = field(default_factory=dict)

    def add_failure(self, check: str, message: str) -> None:
        places = self.broken.setdefault(check, [])
        told = f"{self.where}: {message}" if self.where else message
        if len(places) < MOST_PLACES and told not in places:
            places.append(told)

    def expect(self, holds: bool, check: str, message: str) -> None:
        if not holds:
            self.add_failure(check, message)

    @contextmanager
    def failing_on_exception(self, what: str, check: str = "plays") -> Iterator[None]:
        try:
            yield
        except Exception as error:
            self.add_failure(check, f"{what} raised {error!r:.300}")
            raise GameUnplayable from error


def check_outcome(
    game: Game[Any], found: Findings, outcome: Outcome, seats: int, told: Mapping[int, Verdict]
) -> None:
    """Checks the outcome of a game; ``told`` has the faults of its seats."""
    for name in ("placements", "rewards", "verdicts"):
        if len(getattr(outcome, name)) != seats:
            found.add_failure("outcome", f"{name} should have one for each of {seats} seats")
            return
    ranks = placements_from_scores([-place for place in outcome.placements])
    found.expect(
        outcome.placements == ranks,
        "outcome",
        f"placements should be ranks from 1, as {ranks}; they are {outcome.placements!r:.100}",
    )
    for seat, reward in enumerate(outcome.rewards):
        is_number = isinstance(reward, int | float) and math.isfinite(reward)
        found.expect(
            is_number or (reward is None and seat in told),
            "outcome",
            f"seat {seat}: its reward should be a number, it is {reward!r:.100}",
        )
    for seat, verdict in enumerate(outcome.verdicts):
        fault = told.get(seat)
        if fault is None:
            found.expect(
                verdict is Verdict.DONE,
                "outcome",
                f"seat {seat}: without a fault its verdict is DONE, not {verdict!r:.100}",
            )
        else:
            right = {fault, Verdict.DONE} if fault in game.lenient else {fault}
            found.expect(
                verdict in right,
                "faults",
                f"seat {seat}: after {fault} its verdict is {verdict!r:.100}",
            )
    statistics = outcome.statistics
    measured = {measure.name for measure in game.measures if seats == 1}
    missing = measured.difference(*statistics)
    found.expect(
        not missing, "outcome", f"statistics lack {', '.join(sorted(missing))} of measures"
    )
    found.expect(
        len(statistics) in (0, seats)
        and all(isinstance(one, Mapping) and json_flaw(dict(one)) is None for one in statistics),
        "outcome",
        f"statistics should be empty or numbers for each seat: {statistics!r:.100}",
    )


NO_MOVES: Final[tuple[Json, ...]] = (
    *(None, True, False, 0, -1, 7, 10**30, 0.5, -1e308, "", " ", "\0", "é", "pass", "0", "null"),
    *("x" * 5000, "1" * 5000, [], {}, [[]], [None], [0, 0], [1e308], ["a", {}], {"": None}),
    *({"move": []}, {"move": {"move": 1}}, {"fault": "ERROR"}, [[[[[[[[0]]]]]]]], list(range(500))),
)
"""Answers that are rarely a move. NaN does not reach a game."""


@dataclass(frozen=True)
class PlannedFault:
    """A seat's planned fault at a step: once, or from then on, like a process that is gone."""

    seat: int
    verdict: Verdict
    step: int
    gone: bool


class ConformancePlayer:
    def __init__(
        self,
        game: Game[Any],
        found: Findings,
        overrides: Mapping[str, Json],
        seed: int,
        on_game: Callable[[int], None] | None,
    ) -> None:
        self._game, self._found, self._overrides, self._seed = game, found, overrides, seed
        self._on_game = on_game
        self._seats = 0
        self.games = self.steps = self.longest_game = 0

    def play(
        self,
        configuration: Mapping[str, Json],
        seats: int,
        where: str,
        faults: Sequence[PlannedFault],
    ) -> None:
        self._found.where = where
        self._seats = seats
        before = global_random.getstate()
        try:
            seen = self._play_to_end(configuration, seats, faults, where)
            self._check_determinism(configuration, seats, seen, where)
            self._check_replay(configuration, seats, seen)
        except GameUnplayable:
            pass
        self._found.expect(
            global_random.getstate() == before,
            "determinism",
            "the module random's own generator was used; use the generator that is passed in",
        )
        self._found.where = ""
        self.games += 1
        if self._on_game is not None:
            self._on_game(self.games)

    def _play_to_end(
        self,
        configuration: Mapping[str, Json],
        seats: int,
        faults: Sequence[PlannedFault],
        where: str,
    ) -> _GameRecord:
        """Play the game from reset to end. Each step is done twice from the same state."""
        game, found = self._game, self._found
        chance, answers = random_generators(self._seed, where)
        with found.failing_on_exception("longest()"):
            longest = game.longest(configuration)
        with found.failing_on_exception("reset()"):
            state, event = game.reset(configuration, seats, chance)
        self._check_json(event, "chance of reset()")
        seen = _GameRecord(event)
        told: dict[int, Verdict] = {}
        for number in count(1):
            found.where = f"{where}, step {number}"
            to_move = self._check_turns(state, seats)
            seen.add_view(self._view(state, to_move))
            if not to_move:
                break
            if number > longest:
                found.add_failure(
                    "ends", f"longest() says {longest} steps, but the game is not over"
                )
                raise GameUnplayable
            moves: dict[int, Json | Verdict] = {}
            for seat in to_move:
                fault = next(
                    (one for one in faults if one.seat == seat and one.step <= number), None
                )
                if fault and (fault.gone or seat not in told):
                    told[seat] = fault.verdict
                    moves[seat] = fault.verdict
                else:
                    moves[seat] = self._sample_checked_move(state, seat, answers)
            position = chance.getstate()
            with found.failing_on_exception("step()"):
                after, event = game.step(state, moves, chance)
            self._check_json(event, "chance of step()")
            self._check_purity(state, to_move, moves, position, seen.views[-1], after, event)
            seen.moves.append(moves)
            seen.events.append(event)
            state = after
            self.steps += 1
        self.longest_game = max(self.longest_game, len(seen.moves))
        found.where = where
        with found.failing_on_exception("outcome()"):
            outcome = game.outcome(state)
            seen.result = repr(outcome)
        if outcome is not None:
            check_outcome(game, found, outcome, seats, told)
        return seen

    def _sample_checked_move(self, state: Any, seat: int, answers: Random) -> Json:
        game, found = self._game, self._found
        with found.failing_on_exception("sample()"):
            raw = game.sample(state, seat, answers)
        self._check_json(raw, "what sample() gives")
        with found.failing_on_exception(
            f"parse() of {raw!r:.100}, which sample() gave,", "answers"
        ):
            move = game.parse(state, seat, raw)
        self._check_json(move, "a move")
        found.expect(
            move is not None and not (isinstance(move, Mapping) and "fault" in move),
            "answers",
            f"a move should be neither null nor an object with 'fault': {move!r:.100}",
        )
        with found.failing_on_exception(f"parse() of its own move {move!r:.100}", "answers"):
            again = game.parse(state, seat, move)
        found.expect(again == move, "answers", f"parse({move!r:.80}) gives {again!r:.80}")
        if answers.random() < 0.2:
            odd = answers.choice(NO_MOVES)
            try:
                taken = game.parse(state, seat, odd)
            except InvalidMove:
                pass
            except Exception as error:
                found.add_failure(
                    "answers", f"parse({odd!r:.80}) should raise InvalidMove: {error!r:.200}"
                )
            else:
                self._check_json(taken, f"parse({odd!r:.80})")
        return move

    def _check_turns(self, state: Any, seats: int) -> tuple[int, ...]:
        game, found = self._game, self._found
        with found.failing_on_exception("to_move()"):
            to_move = tuple(game.to_move(state))
        with found.failing_on_exception("outcome()"):
            outcome = game.outcome(state)
        found.expect(
            len(set(to_move)) == len(to_move) and set(to_move) <= set(range(seats)),
            "turns",
            f"to_move() is {to_move!r:.100}",
        )
        found.expect(
            (outcome is None) == bool(to_move),
            "turns",
            f"to_move() is {to_move!r:.100} while outcome() is {outcome!r:.200}",
        )
        return to_move

    def _view(self, state: Any, to_move: Sequence[int]) -> _StateView:
        game, found = self._game, self._found
        with found.failing_on_exception("frame()"):
            frame = game.frame(state)
        self._check_json(frame, "frame()")
        try:
            if uses_format(frame):
                parse_frame(frame, self._seats)
        except GameError as error:
            found.expect(False, "frames", str(error))
        views = {}
        for seat in to_move:
            with found.failing_on_exception("observe()"):
                observation = game.observe(state, seat)
            self._check_json(observation, "observe()")
            found.expect(
                isinstance(observation, Mapping), "json", "observe() should give an object"
            )
            views[seat] = canonical_json(observation)
        return _StateView(canonical_json(frame), views)

    def _check_json(self, value: Json, what: str) -> None:
        flaw = json_flaw(value)
        if flaw is not None:
            self._found.add_failure("json", f"{what} is not plain JSON: {flaw}")
            raise GameUnplayable

    def _check_purity(
        self,
        state: Any,
        to_move: Sequence[int],
        moves: Mapping[int, Json | Verdict],
        position: Any,
        view: _StateView,
        after: Any,
        event: Json,
    ) -> None:
        game, found = self._game, self._found
        found.expect(
            self._view(state, to_move) == view,
            "pure",
            "step() changed the state it was given, or observe() or frame() did",
        )
        chance = Random()  # noqa: S311
        chance.setstate(position)
        with found.failing_on_exception("step() a second time", "pure"):
            second, second_event = game.step(state, moves, chance)
            same = game.frame(second) == game.frame(after) and second_event == event
        found.expect(same, "pure", "step() a second time, from the same state, gives another one")

    def _check_determinism(
        self, configuration: Mapping[str, Json], seats: int, seen: _GameRecord, where: str
    ) -> None:
        """Play the same seed and moves again with the global generator in another state."""
        game, found = self._game, self._found
        chance, _ = random_generators(self._seed, where)
        kept = global_random.getstate()
        global_random.seed(where)
        try:
            with found.failing_on_exception("a second game of the same seed", "determinism"):
                state, event = game.reset(configuration, seats, chance)
                events, last = [event], game.frame(state)
                for moves in seen.moves:
                    state, event = game.step(state, moves, chance)
                    events.append(event)
                last = game.frame(state)
        finally:
            global_random.setstate(kept)
        found.expect(
            events == [seen.first, *seen.events] and canonical_json(last) == seen.views[-1].frame,
            "determinism",
            "a second game of the same seed and moves ended differently",
        )

    def _check_replay(
        self, configuration: Mapping[str, Json], seats: int, seen: _GameRecord
    ) -> None:
        """Replay the game from the bytes of its record, as the replay page does."""
        game, found = self._game, self._found
        steps = tuple(
            Step(
                moves=tuple(_move_json(moves.get(seat)) for seat in range(seats)),
                chance=event,
                charged_seconds=(None,) * seats,
                bank_seconds=(None,) * seats,
            )
            for moves, event in zip(seen.moves, seen.events, strict=True)
        )
        episode = Episode(
            game=game.name,
            version=game.version,
            configuration=dict(configuration),
            clock={},
            seats=seats,
            chance=seen.first,
            steps=steps,
            placements=(1,) * seats,
            rewards=(None,) * seats,
            verdicts=(str(Verdict.DONE),) * seats,
        )
        number = 0
        state = None
        try:
            for number, state in enumerate(states(game, from_bytes(to_bytes(episode)))):
                view = self._view(state, game.to_move(state))
                same = number < len(seen.views) and view == seen.views[number]
                if not same:
                    found.add_failure("replay", f"step {number}: the replayed game differs")
                    return
        except EpisodeError as error:
            found.add_failure("replay", f"the record cannot be replayed: {error}")
            return
        with found.failing_on_exception("outcome()", "replay"):
            result = repr(game.outcome(state))
        found.expect(result == seen.result, "replay", "the replayed game has another result")


@dataclass(frozen=True)
class _StateView:
    """A state from outside: its frame, and the observations of the seats to move."""

    frame: str
    observations: Mapping[int, str]


@dataclass
class _GameRecord:
    first: Json
    moves: list[dict[int, Json | Verdict]] = field(default_factory=list)
    events: list[Json] = field(default_factory=list)
    views: list[_StateView] = field(default_factory=list)
    result: str = ""

    def add_view(self, view: _StateView) -> None:
        self.views.append(view)


def random_generators(seed: int, where: str) -> tuple[Random, Random]:
    """The episode's generator, and the generator of its random players."""
    return Random(f"{seed} {where}"), Random(f"{seed} {where} answers")  # noqa: S311


def _move_json(move: Json | Verdict | None) -> Json:
    return {"fault": str(move)} if isinstance(move, Verdict) else move
