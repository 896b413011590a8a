"""What a match leaves behind: the public episode, and each seat's private log.

The log blob is for the seat's owner alone: gzip of the JSON object ``{"format": "peck-log/1",
"moves": [{"step", "wall_seconds", "cpu_seconds", "pressure_seconds", "charged_seconds",
"off_turn_seconds", "bank_seconds", "stdout", "stderr"}], "verdict", "reason", "failed_step",
"traceback", "pardoned"}``. Step 0 is the loading apart from the first answer, if there is anything
to tell. ``pardoned`` tells of the faults that cost an answer and not the seat, by verdict:
``times``, and of the first one ``step``, ``reason`` and ``traceback``; older logs lack it.

The times of a move, so that everybody can check a time-out: ``charged_seconds`` is the larger of
``cpu_seconds`` (per core granted; null where nobody counted it) and ``wall_seconds`` less
``pressure_seconds``, which is what was forgiven because the agent or the referee stood waiting for
a core. ``off_turn_seconds`` was computed before the question and went straight from the bank;
``bank_seconds`` is what was left after both. Logs written before these were counted have wall and
charge alone.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from games.episode import Episode, Step
from games.protocol import Json, Outcome, Verdict
from sandbox.match.clock import Clock
from sandbox.match.loans import MoveLog
from sandbox.match.move_cost import MoveCost
from sandbox.match.verdict import SeatFault

LOG_FORMAT: Final = "peck-log/1"
MOVE_CHARS: Final = 10_000
"""Most characters of each stream kept of one move."""
LOG_CHARS: Final = 1 << 20
"""Most characters of both streams kept of one seat in one match."""


@dataclass(frozen=True, slots=True)
class SeatReport:
    """How one seat came out of a match. Durations in seconds."""

    placement: int
    reward: float | None
    verdict: Verdict
    reason: str | None
    """For the owner alone; None for a seat that never failed."""
    failed_step: int | None
    """1 for the first step, 0 for loading; None for a seat that never failed."""
    charged_seconds: float
    """All its answers together, and what it computed off turn."""
    max_move_seconds: float
    log: bytes
    """The ``peck-log/1`` blob."""
    statistics: Mapping[str, float] | None = None
    """What the game says besides, where it says something."""
    pardoned: Mapping[Verdict, int] = field(default_factory=dict)
    """How many faults of each kind cost it an answer and not the seat; for the owner alone."""
    answered: bool = True
    """Whether one of its answers at least was a move, or it was asked for none."""


@dataclass(frozen=True, slots=True)
class PlayedMatch:
    """One finished episode, or a mirrored pair of them, and the seats of the first in order."""

    episode: Episode
    seats: tuple[SeatReport, ...]
    mirror: Episode | None = None
    """The second of a pair, in which everybody sits the other way round."""

    @property
    def episodes(self) -> tuple[Episode, ...]:
        """All of the match."""
        return (self.episode,) if self.mirror is None else (self.episode, self.mirror)


@dataclass(frozen=True, slots=True)
class SeatAnswer:
    """One question that a seat was asked and what it cost."""

    step: int
    cost: MoveCost
    off_turn_seconds: float
    """Charged for what it computed before it was asked."""
    bank_seconds: float
    """What was left after it."""
    is_put: bool = True
    """Whether the child was told it; one that owes an answer, or has no time left, is not."""


@dataclass(slots=True)
class Pardons:
    """Faults of one kind after which a seat played on."""

    first: SeatFault
    times: int = 0


class SeatRecord:
    """Collects what one seat was asked; ``answers`` in the order of its questions."""

    def __init__(self) -> None:
        self.loading = MoveCost(0.0, None, 0.0, 0.0)
        self.answers: list[SeatAnswer] = []
        self.pardoned: dict[Verdict, Pardons] = {}
        self.moved = False
        """Whether one of the answers was a move."""

    def add(self, answer: SeatAnswer) -> None:
        self.answers.append(answer)

    def pardon(self, fault: SeatFault) -> None:
        """Count a fault after which the seat plays on."""
        known = self.pardoned.setdefault(fault.verdict, Pardons(fault))
        known.times += 1

    def log_blob(self, verdict: Verdict, fault: SeatFault | None, log: Sequence[MoveLog]) -> bytes:
        """The seat's log; the same bytes for the same content."""
        printed = _texts_by_step(log, self.answers)
        moves = [
            {
                "step": answer.step,
                **_cost_json(answer.cost),
                "off_turn_seconds": round(answer.off_turn_seconds, 6),
                "bank_seconds": round(answer.bank_seconds, 6),
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
                    "times": found.times,
                    "step": found.first.step,
                    "reason": found.first.reason,
                    "traceback": found.first.traceback,
                }
                for kind, found in self.pardoned.items()
            },
        }
        text = json.dumps(document, separators=(",", ":"), allow_nan=False)
        return gzip.compress(text.encode(), mtime=0)


class EpisodeRecord:
    """Collects the steps of an episode in the order they were played."""

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
        """One step: what each seat that had to move did, and what those that were asked paid."""
        seats = range(self._seats)
        charged = {seat: round(one.cost.charged_seconds, 6) for seat, one in answers.items()}
        banks = {seat: round(answer.bank_seconds, 6) for seat, answer in answers.items()}
        self._steps.append(
            Step(
                moves=tuple(_move_json(moves[seat]) if seat in moves else None for seat in seats),
                chance=chance,
                charged_seconds=tuple(map(charged.get, seats)),
                bank_seconds=tuple(map(banks.get, seats)),
            )
        )

    def close(self, outcome: Outcome) -> Episode:
        """The whole episode."""
        return Episode(
            game=self._game,
            version=self._version,
            configuration=self._configuration,
            clock=self._clock.to_json(),
            seats=self._seats,
            chance=self._chance,
            steps=tuple(self._steps),
            placements=tuple(outcome.placements),
            rewards=tuple(outcome.rewards),
            verdicts=tuple(str(verdict) for verdict in outcome.verdicts),
        )


def read_log(blob: bytes) -> dict[str, Any]:
    """The document of a log blob that :meth:`SeatRecord.log_blob` wrote."""
    document: dict[str, Any] = json.loads(gzip.decompress(blob))
    if document.get("format") != LOG_FORMAT:
        raise ValueError(f"not a {LOG_FORMAT} document")
    return document


_NOTHING: Final = {"stdout": "", "stderr": ""}


def _cost_json(cost: MoveCost) -> dict[str, float | None]:
    return {
        "wall_seconds": round(cost.wall_seconds, 6),
        "cpu_seconds": None if cost.cpu_seconds is None else round(cost.cpu_seconds, 6),
        "pressure_seconds": round(cost.waited_seconds, 6),
        "charged_seconds": round(cost.charged_seconds, 6),
    }


def _move_json(move: Json | Verdict) -> Json:
    return {"fault": str(move)} if isinstance(move, Verdict) else move


def _texts_by_step(
    log: Sequence[MoveLog], answers: Sequence[SeatAnswer]
) -> dict[int, dict[str, str]]:
    """What was printed, by step of the episode; the box counts acts that reach it, a step may pass
    without.

    The box keeps the same caps; they are kept again here because it runs beside hostile code.
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
