"""Records a match: the public episode, and each seat's private log.

Only the seat's owner sees the log. It is gzip of the JSON object ``{"format": "peck-log/1",
"moves": [{"step", "wall_seconds", "cpu_seconds", "pressure_seconds", "charged_seconds",
"off_turn_seconds", "bank_seconds", "stdout", "stderr"}], "verdict", "reason", "failed_step",
"traceback", "pardoned", "record"}``.

Step 0 is loading on its own, if it printed or cost anything. ``pardoned`` has the faults that cost
an answer and not the seat, by verdict: ``times``, and ``step``, ``reason`` and ``traceback`` of the
first. Older logs lack it. ``record`` is there for a seat of a fork: the number of ``compared``
moves, of ``different`` ones, and the ``first`` of these with ``step``, ``recorded`` and ``own``
move.

A move's times let everybody check a time-out:

- ``charged_seconds`` is the larger of ``cpu_seconds`` per core granted and ``wall_seconds`` less
  ``pressure_seconds``.
- ``cpu_seconds`` is null if nobody measured it.
- ``pressure_seconds`` is the time forgiven because agent or referee waited for a core.
- ``off_turn_seconds`` was computed before the question and came from the bank.
- ``bank_seconds`` is the bank after both.

Older logs have only wall time and charge.

A game may require a mirrored pair: two episodes from one start. In the second episode the seats are
in reverse order, and each agent has a new process that knows nothing of the first. The result of a
pair is the sum of the rewards.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import msgspec

from games.episode import Episode, Step, as_json, move_json
from games.protocol import Game, Json, Outcome, Verdict, placements_from_scores
from sandbox.match.clock import Clock
from sandbox.match.loans import MoveLog
from sandbox.match.move_cost import MoveCost
from sandbox.match.seat_faults import SeatFault

LOG_FORMAT: Final = "peck-log/1"
MOVE_CHARS: Final = 10_000
"""Most characters kept of each stream in one move."""
LOG_CHARS: Final = 1 << 20
"""Most characters kept of one seat's streams in one match."""
OTHER_MOVES: Final = 20
"""Most moves kept that are not those of the record."""


@dataclass(frozen=True, slots=True)
class SeatReport:
    """The result of one seat in a match. Durations in seconds."""

    placement: int
    reward: float | None
    verdict: Verdict
    reason: str | None
    """Why the seat failed, or a warning that it answered None. For its owner alone."""
    failed_step: int | None
    """Step at which the seat failed: 1 is the first, 0 is loading. None for a seat that never
    failed.
    """
    charged_seconds: float
    """Charge of all its answers and of its work between moves."""
    max_move_seconds: float
    log: bytes
    """The ``peck-log/1`` blob."""
    statistics: Mapping[str, float] | None = None
    """The game's own statistics of the seat, if it has any."""
    pardoned: Mapping[Verdict, int] = field(default_factory=dict)
    """Number of faults by verdict that cost an answer and not the seat. For the owner alone."""
    answered: bool = True
    """Whether at least one answer was a move, or the seat was never asked."""
    bundle_refused: bool = False
    """Whether the bundle was not unpacked, so no code of the agent ran."""


@dataclass(frozen=True, slots=True)
class PlayedMatch:
    """One finished episode, or a mirrored pair; the seats are those of the first episode."""

    episode: Episode
    seats: tuple[SeatReport, ...]
    mirror: Episode | None = None
    """The second episode of a pair, with the seats in reverse order."""

    @property
    def episodes(self) -> tuple[Episode, ...]:
        return (self.episode,) if self.mirror is None else (self.episode, self.mirror)


@dataclass(frozen=True, slots=True)
class SeatAnswer:
    """One question to a seat, and its cost."""

    step: int
    cost: MoveCost
    off_turn_seconds: float
    """Charge for work before the question."""
    bank_seconds: float
    """Bank after the answer."""
    is_put: bool = True
    """Whether the question was sent. A seat that owes an answer or has no time left gets none."""


@dataclass(slots=True)
class Pardons:
    """Faults of one verdict after which a seat played on."""

    first: SeatFault
    times: int = 0


@dataclass(slots=True)
class RecordComparison:
    """Moves of an agent in a recorded seat, beside those of the record."""

    compared: int = 0
    different: int = 0
    first: list[tuple[int, Json, Json]] = field(default_factory=list)
    """Step, recorded move and own move of the first different ones."""

    def add(self, step: int, recorded: Json, own: Json | Verdict) -> None:
        """Count a move of the agent."""
        own = as_json(own)
        self.compared += 1
        if own != recorded:
            self.different += 1
            if len(self.first) < OTHER_MOVES:
                self.first.append((step, recorded, own))

    def to_json(self) -> Json:
        """The field ``record`` of the log."""
        first = [{"step": step, "recorded": old, "own": new} for step, old, new in self.first]
        return {"compared": self.compared, "different": self.different, "first": first}


class SeatRecord:
    """Collects a seat's questions; ``answers`` has them in order."""

    def __init__(self) -> None:
        self.loading = MoveCost(0.0, None, 0.0, 0.0)
        self.answers: list[SeatAnswer] = []
        self.pardoned: dict[Verdict, Pardons] = {}
        self.comparison = RecordComparison()
        self.moved = False
        """Whether at least one answer was a move."""
        self.moves_for_none: list[Json] = []
        """Moves that the rules played for answers of None."""
        self.unused_answers = 0
        """Number of answers that a move of the fork replaced, recorded or given by hand."""

    def add(self, answer: SeatAnswer) -> None:
        self.answers.append(answer)

    def mark_answers_unused(self) -> None:
        """Marks all answers so far as replaced by the moves of a fork."""
        self.moves_for_none.clear()
        self.unused_answers = len(self.answers)

    def count_pardoned_fault(self, fault: SeatFault) -> None:
        """Count a fault after which the seat plays on."""
        pardons = self.pardoned.setdefault(fault.verdict, Pardons(fault))
        pardons.times += 1

    def log_blob(self, verdict: Verdict, fault: SeatFault | None, log: Sequence[MoveLog]) -> bytes:
        """The seat's log. Equal content gives equal bytes."""
        printed = _texts_by_step(log, self.answers)
        moves = [
            {
                "step": answer.step,
                **_cost_json(answer.cost),
                "off_turn_seconds": _rounded(answer.off_turn_seconds),
                "bank_seconds": _rounded(answer.bank_seconds),
                **printed.pop(answer.step, _NOTHING),
            }
            for answer in self.answers
        ]
        if 0 in printed:
            loading = {**_cost_json(self.loading), "charged_seconds": 0.0, "off_turn_seconds": 0.0}
            moves.insert(0, {"step": 0, **loading, "bank_seconds": None, **printed[0]})
        document = {
            "format": LOG_FORMAT,
            "moves": moves,
            "verdict": str(verdict),
            "reason": fault.reason if fault else None,
            "failed_step": fault.step if fault else None,
            "traceback": fault.traceback if fault else None,
            "pardoned": {
                str(kind): {
                    "times": pardons.times,
                    "step": pardons.first.step,
                    "reason": pardons.first.reason,
                    "traceback": pardons.first.traceback,
                }
                for kind, pardons in self.pardoned.items()
            },
        }
        if self.comparison.compared:
            document["record"] = self.comparison.to_json()
        return gzip.compress(_ENCODER.encode(document), _LEVEL, mtime=0)


class EpisodeRecord:
    """Collects the steps of an episode in order."""

    def __init__(
        self,
        *,
        game: str,
        version: str,
        configuration: Mapping[str, Json],
        clock: Clock,
        seats: int,
        chance: Json,
    ) -> None:
        self._game, self._version = game, version
        self._configuration, self._clock = dict(configuration), clock
        self._seats, self._chance = seats, chance
        self._steps: list[Step] = []

    def add(
        self,
        moves: Mapping[int, Json | Verdict],
        answers: Mapping[int, SeatAnswer],
        chance: Json,
    ) -> None:
        """Add one step: each mover's action, and the costs of the seats that were asked."""
        seats = range(self._seats)
        charged = {seat: round(one.cost.charged_seconds, 6) for seat, one in answers.items()}
        banks = {seat: round(answer.bank_seconds, 6) for seat, answer in answers.items()}
        self._steps.append(
            Step(
                moves=tuple(move_json(moves[seat]) if seat in moves else None for seat in seats),
                chance=chance,
                charged_seconds=tuple(map(charged.get, seats)),
                bank_seconds=tuple(map(banks.get, seats)),
            )
        )

    def add_recorded(self, step: Step) -> None:
        """Add a step of an older record as it is."""
        self._steps.append(step)

    def steps_from(self, first: int, most: int) -> list[Step]:
        """Return up to ``most`` steps from number ``first`` (0 is the first). Another thread may
        call it."""
        return self._steps[first : first + most]

    def so_far(self) -> Episode:
        """Return the steps until now, without placements. Another thread may call it."""
        return Episode(
            game=self._game,
            version=self._version,
            configuration=self._configuration,
            clock=self._clock.to_json(),
            seats=self._seats,
            chance=self._chance,
            steps=tuple(self._steps),
            placements=(),
            rewards=(),
            verdicts=(),
        )

    def close(self, outcome: Outcome) -> Episode:
        """Return the finished episode."""
        return replace(
            self.so_far(),
            placements=tuple(outcome.placements),
            rewards=tuple(outcome.rewards),
            verdicts=tuple(str(verdict) for verdict in outcome.verdicts),
        )


def read_log(blob: bytes) -> dict[str, Any]:
    """Read a log blob that :meth:`SeatRecord.log_blob` wrote."""
    document: dict[str, Any] = json.loads(gzip.decompress(blob))
    if document.get("format") != LOG_FORMAT:
        raise ValueError(f"not a {LOG_FORMAT} document")
    return document


_NOTHING: Final = {"stdout": "", "stderr": ""}
_ENCODER: Final = msgspec.json.Encoder()
_LEVEL: Final = 6


def _cost_json(cost: MoveCost) -> dict[str, float | None]:
    wall = _rounded(cost.wall_seconds)
    is_wall = cost.charged_seconds is cost.wall_seconds
    return {
        "wall_seconds": wall,
        "cpu_seconds": None if cost.cpu_seconds is None else _rounded(cost.cpu_seconds),
        "pressure_seconds": _rounded(cost.forgiven_seconds),
        "charged_seconds": wall if is_wall else _rounded(cost.charged_seconds),
    }


def _rounded(seconds: float) -> float:
    """Whole microseconds. Most durations in a log are zero, and rounding is slow."""
    return round(seconds, 6) if seconds else 0.0


def _texts_by_step(
    log: Sequence[MoveLog], answers: Sequence[SeatAnswer]
) -> dict[int, dict[str, str]]:
    """Return the printed text by step of the episode.

    The box counts acts that reach it; the seat may miss a step. The box has the same limits, but it
    runs beside hostile code, so they are applied again here.
    """
    texts: dict[int, dict[str, str]] = {}
    left = LOG_CHARS
    steps = [0, *(answer.step for answer in answers if answer.is_put)]
    for entry in log:
        step = steps[min(max(entry.step, 0), len(steps) - 1)]
        at_step = texts.setdefault(step, dict(_NOTHING))
        for name, text in (("stdout", entry.stdout), ("stderr", entry.stderr)):
            room = min(left, MOVE_CHARS - len(at_step[name]))
            kept = text[:room].encode("utf-8", "replace").decode("utf-8")
            at_step[name] += kept
            left -= len(kept)
    return {step: both for step, both in texts.items() if any(both.values())}


def episodes_per_match(game: Game[Any]) -> int:
    """Number of episodes in a match of this game."""
    return 2 if game.mirrored else 1


def seat_order(seats: int, position: int) -> tuple[int, ...]:
    """The lineup index of each seat in the episode at this position."""
    lineup = tuple(range(seats))
    return lineup[::-1] if position % 2 else lineup


def play_match(
    game: Game[Any], seats: int, episode: Callable[[tuple[int, ...]], PlayedMatch]
) -> PlayedMatch:
    """Play the match. ``episode`` plays one episode with the given lineup indexes in its seats."""
    first, *second = (episode(seat_order(seats, n)) for n in range(episodes_per_match(game)))
    return merge_pair(first, second[0]) if second else first


def merge_pair(first: PlayedMatch, second: PlayedMatch) -> PlayedMatch:
    """Merge both episodes into one result with the seats of the first.

    A fault in either episode is the seat's fault; the first one counts. An episode that paid
    nothing for a fault counts as the lowest reward of either episode, at most 0.
    """
    mirrored = [second.seats[seat] for seat in seat_order(len(first.seats), 1)]
    sums = sum_rewards(
        [seat.reward for seat in first.seats], [seat.reward for seat in second.seats]
    )
    placements = placements_from_scores(sums)
    reports = tuple(
        _merge_seats(one, two, reward, place)
        for one, two, reward, place in zip(first.seats, mirrored, sums, placements, strict=True)
    )
    return PlayedMatch(first.episode, reports, second.episode)


def sum_rewards(first: Sequence[float | None], second: Sequence[float | None]) -> list[float]:
    """The rewards of a pair by seat of the first episode, as ``merge_pair`` says."""
    mirrored = [second[seat] for seat in seat_order(len(first), 1)]
    worst = min(0.0, *(reward or 0.0 for reward in (*first, *mirrored)))
    return [
        (worst if own_reward is None else own_reward)
        + (worst if mirrored_reward is None else mirrored_reward)
        for own_reward, mirrored_reward in zip(first, mirrored, strict=True)
    ]


def _merge_seats(
    first: SeatReport, second: SeatReport, reward: float, placement: int
) -> SeatReport:
    deciding = second if second.verdict.is_fault and not first.verdict.is_fault else first
    reason = deciding.reason
    if deciding is second and reason is not None:
        reason = f"in the second episode: {reason}"
    if not deciding.verdict.is_fault and (first.reason or second.reason):  # warnings
        position = "first" if first.reason else "second"
        reason = f"in the {position} episode: {first.reason or second.reason}"
    return replace(
        first,
        placement=placement,
        reward=reward,
        verdict=deciding.verdict,
        reason=reason,
        failed_step=deciding.failed_step,
        charged_seconds=round(first.charged_seconds + second.charged_seconds, 6),
        max_move_seconds=max(first.max_move_seconds, second.max_move_seconds),
        pardoned=Counter(first.pardoned) + Counter(second.pardoned),
        answered=first.answered or second.answered,
        log=_merge_logs(first.log, second.log, deciding.verdict, is_second=deciding is second),
    )


def _merge_logs(first_log: bytes, second_log: bytes, verdict: Verdict, *, is_second: bool) -> bytes:
    """Join the logs of both episodes. Entries of the second episode are marked."""
    first, second = read_log(first_log), read_log(second_log)
    moves = [*first["moves"], *({**move, "episode": 1} for move in second["moves"])]
    deciding = {**second, "failed_episode": 1} if is_second else first
    pardons = dict(first["pardoned"])
    for kind, pardon in second["pardoned"].items():
        earlier = pardons.get(kind)
        pardons[kind] = (
            {**earlier, "times": earlier["times"] + pardon["times"]} if earlier else pardon
        )
    document = {**deciding, "moves": moves, "verdict": str(verdict), "pardoned": pardons}
    return gzip.compress(json.dumps(document, separators=(",", ":")).encode(), mtime=0)
