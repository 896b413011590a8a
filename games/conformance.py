"""Checks by random play, with and without faults, whether a game keeps the Protocol's promises.

``check_conformance`` plays. Each broken promise is one named check of its report, with the first
places where it broke. The report cannot show whether the rules are right, or whether an observation
reveals hidden facts. It does show whether observations depend on future chance: they must be equal
in a replay from the record, which has no generator.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from random import Random
from typing import Any, Final

from games.conformance_player import (
    ConformancePlayer,
    Findings,
    GameUnplayable,
    PlannedFault,
    random_generators,
)
from games.protocol import FAULTS, ConfigurationError, Game, Json, canonical_json, json_flaw

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
