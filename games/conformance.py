"""Checks by random play, with and without faults, whether a game keeps the Protocol's promises.

``check_conformance`` plays. Each broken promise is one named check of its report, with the first
places where it broke. The report cannot show whether the rules are right, or whether an observation
reveals hidden facts. It does show whether observations depend on future chance: they must be equal
in a replay from the record, which has no generator. Each step is done twice, and the whole game is
played again and replayed.
"""

from __future__ import annotations

import hashlib
import math
import random as global_random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from itertools import count
from random import Random
from typing import Any, Final

from games.episode import Episode, EpisodeError, Step, from_bytes, move_json, states, to_bytes
from games.frames import parse_frame, uses_format
from games.protocol import (
    FAULTS,
    ConfigurationError,
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
                moves=tuple(move_json(moves.get(seat)) for seat in range(seats)),
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


MOST_COUNTS: Final = 6
"""Most seat counts to try: the ends and some between."""
CHECKS: Final = {
    "describes itself": "name, title, version, seats, lenient, mirrored and clock are well formed",
    "configuration": "configure() completes, or raises ConfigurationError naming the field",
    "plays": "no method raises while a game is played",
    "ends": "a game is over within longest() steps",
    "turns": "to_move() lists each seat once, and no seat after the outcome",
    "outcome": "placements, rewards and verdicts are sound, one for each seat",
    "faults": "play goes on after every fault, with the verdicts that lenient requires",
    "answers": "parse() accepts moves of sample() and parse(), and raises InvalidMove for others",
    "json": "frames, observations, moves and chance are plain JSON",
    "frames": "frames that use the players' format (board, tokens, text) follow it",
    "pure": "step() and observe() change nothing; equal calls give equal results",
    "determinism": "one seed gives one game, and the global generator is left alone",
    "replay": "recorded moves and chance give the same states, observations and result",
}


@dataclass(frozen=True, slots=True)
class Report:
    """What was played and which promises failed."""

    game: str
    version: str
    seed: int
    seat_counts: tuple[int, ...]
    games: int
    steps: int
    longest_game: int
    broken: Mapping[str, tuple[str, ...]]
    """Places by name of the failed check. Checks that are not here passed."""

    @property
    def passed(self) -> bool:
        return not self.broken

    def as_json(self) -> dict[str, Json]:
        """The report with every check, also those that passed."""
        told = asdict(self)
        del told["broken"]
        told["passed"] = self.passed
        told["checks"] = [
            {
                "name": name,
                "promise": promise,
                "holds": name not in self.broken,
                "places": list(self.broken.get(name, ())),
            }
            for name, promise in CHECKS.items()
        ]
        return told


def check_conformance(
    game: Game[Any],
    *,
    games: int = 5,
    seed: int = 0,
    seat_counts: Sequence[int] | None = None,
    overrides: Mapping[str, Json] | None = None,
    on_game: Callable[[int], None] | None = None,
) -> Report:
    """Play ``games`` random games for each seat count, and one more for each fault of each seat.

    Equal arguments give an equal report. ``overrides`` belong to the game's configuration. Without
    ``seat_counts`` all are tried, or of many the ends and some between.
    """
    found = Findings()
    player = ConformancePlayer(game, found, overrides or {}, seed, on_game)
    _check_description(game, found)
    counts = tuple(seat_counts or _spread_counts(game.seats))
    try:
        configuration = _check_configuration(game, found, overrides or {})
        for seats in counts:
            for number in range(games):
                player.play(configuration, seats, f"{seats} seats, game {number}", ())
            for number, faults in enumerate(_fault_plans(game, seats, seed)):
                who = ", ".join(f"seat {one.seat} {one.verdict}" for one in faults)
                player.play(configuration, seats, f"{seats} seats, {who} ({number})", faults)
    except GameUnplayable:
        pass
    return Report(
        game=str(game.name),
        version=str(game.version),
        seed=seed,
        seat_counts=counts,
        games=player.games,
        steps=player.steps,
        longest_game=player.longest_game,
        broken={name: tuple(found.broken[name]) for name in CHECKS if name in found.broken},
    )


def fingerprint(game: Game[Any], seed: int = 0, overrides: Mapping[str, Json] | None = None) -> str:
    """A digest of random games without faults, for comparing two processes.

    Raises what the game raises.
    """
    seen = hashlib.sha256()
    configuration = game.configure(overrides or {})
    for seats in _spread_counts(game.seats):
        dice, answers = random_generators(seed, f"fingerprint {seats}")
        state, event = game.reset(configuration, seats, dice)
        seen.update(canonical_json([game.frame(state), event]).encode())
        for _ in range(game.longest(configuration)):
            moves = {
                seat: game.parse(state, seat, game.sample(state, seat, answers))
                for seat in game.to_move(state)
            }
            if not moves:
                break
            state, event = game.step(state, moves, dice)
            seen.update(canonical_json([game.frame(state), event]).encode())
    return seen.hexdigest()


def _spread_counts(seats: range) -> list[int]:
    counts = list(seats)
    if len(counts) <= MOST_COUNTS:
        return counts
    last = len(counts) - 1
    return [counts[round(place * last / (MOST_COUNTS - 1))] for place in range(MOST_COUNTS)]


def _fault_plans(game: Game[Any], seats: int, seed: int) -> Iterator[tuple[PlannedFault, ...]]:
    chance = Random(f"{seed} faults {seats}")  # noqa: S311 (play, as everywhere here)
    for verdict in sorted(FAULTS):
        for seat in range(seats):
            gone = verdict not in game.lenient or chance.random() < 0.5
            yield (PlannedFault(seat, verdict, chance.choice((1, 1, 2, 3, 5)), gone),)
        yield tuple(PlannedFault(seat, verdict, 2, True) for seat in range(seats))


def _check_description(game: Game[Any], found: Findings) -> None:
    for name in ("name", "title", "version"):
        value = getattr(game, name)
        found.expect(
            isinstance(value, str) and bool(value.strip()),
            "describes itself",
            f"{name} should be a text, it is {value!r:.100}",
        )
    seats = game.seats
    found.expect(
        isinstance(seats, range) and len(seats) > 0 and seats.start > 0 and seats.step == 1,
        "describes itself",
        f"seats should be range(least, most + 1), it is {seats!r:.100}",
    )
    found.expect(
        isinstance(game.lenient, frozenset) and game.lenient <= FAULTS,
        "describes itself",
        f"lenient should be a frozenset of ERROR, INVALID, TIMEOUT, it is {game.lenient!r:.100}",
    )
    found.expect(
        isinstance(game.mirrored, bool) and (not game.mirrored or seats == range(2, 3)),
        "describes itself",
        "mirrored should be True or False, and only a game for two can be",
    )
    found.expect(
        isinstance(game.clock, Mapping) and json_flaw(dict(game.clock)) is None,
        "describes itself",
        f"clock should be a JSON object, it is {game.clock!r:.100}",
    )


def _check_configuration(
    game: Game[Any], found: Findings, overrides: Mapping[str, Json]
) -> dict[str, Json]:
    """The configuration to play. Raises GameUnplayable if there is none."""
    with found.failing_on_exception("configure()", "configuration"):
        configuration = game.configure(overrides)
        again = game.configure(configuration)
    flaw = json_flaw(configuration)
    if flaw is not None or not isinstance(configuration, dict):
        found.add_failure("configuration", f"configure() should give a JSON object: {flaw}")
        raise GameUnplayable
    found.expect(
        again == configuration, "configuration", "configure() of its own result changes it"
    )
    _check_refusal(game, found, "no_such_field", 1, {"no_such_field"})
    for name in configuration:
        odd: tuple[Json, ...] = ([], {"a": 1}, [[1]], math.nan, math.inf, "no such value \0")
        for value in odd:
            _check_refusal(game, found, name, value, {name})
        for value in (None, True, -1, 0, -(10**12), 0.5, "", "1"):
            _check_refusal(game, found, name, value, set(configuration), may_take=True)
    return configuration


def _check_refusal(
    game: Game[Any],
    found: Findings,
    name: str,
    value: Json,
    fields: set[str],
    *,
    may_take: bool = False,
) -> None:
    told = f"configure({{{name!r}: {value!r:.40}}})"
    try:
        taken = game.configure({name: value})
    except ConfigurationError as error:
        found.expect(
            error.field in fields,
            "configuration",
            f"{told} should blame {name!r}, it blames {error.field!r:.100}",
        )
    except Exception as error:
        found.add_failure(
            "configuration", f"{told} should raise ConfigurationError, not {error!r:.200}"
        )
    else:
        found.expect(may_take, "configuration", f"{told} should be refused")
        flaw = json_flaw(taken)
        found.expect(flaw is None, "configuration", f"{told} gives what is no JSON: {flaw}")
