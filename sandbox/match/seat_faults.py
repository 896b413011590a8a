"""Describes how a seat failed, in one sentence that its owner can act on.

Verdicts on an agent are data, never exceptions. Text of the agent (its exception, its answer) is
quoted, shortened and stripped of control characters. The verdict never depends on it.
"""

from __future__ import annotations

import re
import signal as signals
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from games.protocol import Verdict
from sandbox.box.bundle_manifest import Contract
from sandbox.match.clock import Clock, TimeCharge
from sandbox.match.move_cost import MoveCost

LONGEST_REASON: Final = 400
DETAILS: Final = " Details: "
"""Between the sentence of a time-out and its numbers."""
IDLE_SHARE: Final = 0.2
"""An agent whose CPU time is a smaller share of the wall time mostly slept or waited."""
LONGEST_TRACEBACK: Final = 10_000
_HINTS: Final = {
    Contract.LINES: "; write and flush one line for each question",
    Contract.RIDDLES: "; write and flush one line for each `action move`",
    Contract.HTTP: "; the server must answer POST /move within the time of the clock",
}
_PLACE: Final = re.compile(r'File "(?:/kaggle_simulations/agent/)?([^"\n]{1,200})", line (\d{1,7})')


@dataclass(frozen=True, slots=True)
class SeatFault:
    """The end of a seat by its own fault."""

    verdict: Verdict
    """ERROR, INVALID or TIMEOUT."""
    reason: str
    """One sentence for the owner alone, at most ``LONGEST_REASON`` characters."""
    step: int
    """The step of the episode at which the seat failed, from 1; 0 is loading."""
    traceback: str | None = None
    bundle_refused: bool = False
    """Whether the bundle was not unpacked, so no code of the agent ran."""


def raised_fault(step: int, trace: str) -> SeatFault:
    """The agent's code raised; ``trace`` is the end of the traceback from the child."""
    text = clean_text(trace[-LONGEST_TRACEBACK:], LONGEST_TRACEBACK, keep_lines=True)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    last = lines[-1] if lines else "an exception without a message"
    places = _PLACE.findall(text)
    where = f", at {places[-1][0]} line {places[-1][1]}" if places else ""
    return _make_fault(Verdict.ERROR, step, f"Raised {_step_text(step)}{where}: {last}", text)


def exited_fault(step: int, code: int) -> SeatFault:
    """The agent's process exited."""
    return _make_fault(
        Verdict.ERROR,
        step,
        f"The agent's process exited with code {code} {_step_text(step)};"
        " an agent must return its move "
        "and leave the process running",
    )


def killed_fault(step: int, number: int) -> SeatFault:
    """A signal ended the agent's process."""
    try:
        name = signals.Signals(number).name
        meaning = signals.strsignal(number)
    except ValueError:
        name, meaning = f"number {number}", None
    description = f"{name} ({meaning})" if meaning else name
    return _make_fault(
        Verdict.ERROR, step, f"The agent's process ended by signal {description} {_step_text(step)}"
    )


def out_of_memory_fault(step: int, memory_mb: int) -> SeatFault:
    """The kernel ended the process for its memory."""
    return _make_fault(
        Verdict.ERROR,
        step,
        f"The agent used more than its {memory_mb} MB of memory {_step_text(step)}",
    )


def out_of_gpu_memory_fault(step: int, gpu_mb: int) -> SeatFault:
    """The node ended the process, because it used more than its share of a GPU's memory."""
    return _make_fault(
        Verdict.ERROR,
        step,
        f"The agent used more than its {gpu_mb} MB of GPU memory {_step_text(step)}",
    )


def vanished_fault(step: int) -> SeatFault:
    """The connection ended for an unknown reason, and the box was unharmed."""
    return _make_fault(
        Verdict.ERROR,
        step,
        f"The agent's process closed its connection {_step_text(step)} without an answer",
    )


def silence_hint(contract: Contract, *, is_importing: bool) -> str:
    """What the owner of an agent without an answer in time may change or should know."""
    if is_importing:
        return "; main.py was still being imported, and the first step pays for this"
    return _HINTS.get(contract, "")


def late_fault(
    step: int, charge: TimeCharge, cost: MoveCost, clock: Clock, *, hint: str | None = None
) -> SeatFault:
    """The answer took more than the allowance and the rest of the bank.

    ``hint`` comes from ``silence_hint`` if no answer came.
    """
    left = max(0.0, charge.bank_before_seconds)
    what = "took" if hint is None else "had no answer after"
    limits = f"{clock.act_seconds:g} s a move are allowed and {left:.3f} s were left in the bank"
    return _make_fault(
        Verdict.TIMEOUT,
        step,
        f"{_late_text(cost, clock, has_answer=hint is None)}.{DETAILS}"
        f"Step {step} {what} {charge.seconds:.3f} s; {limits}{hint or ''} ({_cost_text(cost)})",
    )


def off_turn_fault(step: int, charge: TimeCharge) -> SeatFault:
    """The agent computed between its moves for longer than its bank could pay."""
    left = max(0.0, charge.bank_before_seconds)
    return _make_fault(
        Verdict.TIMEOUT,
        step,
        f"The agent computed for {charge.seconds:.3f} s off its turn, before step {step}; the bank "
        f"pays for this and had {left:.3f} s left. Stop all threads and processes before you "
        "return a move",
    )


def late_load_fault(clock: Clock, cost: MoveCost, *, is_importing: bool) -> SeatFault:
    """At the end of the load allowance the agent's file still ran, or its server did not listen
    yet.
    """
    what = (
        "main.py was still being imported"
        if is_importing
        else "a server of contract http must listen and answer GET / by then"
    )
    return _make_fault(
        Verdict.TIMEOUT,
        0,
        f"The agent was still loading after {clock.load_seconds:g} s, the limit; {what} "
        f"({_cost_text(cost)})",
    )


def invalid_move_fault(step: int, expectation: str) -> SeatFault:
    """The answer is no move; ``expectation`` is the game's text for what it wanted."""
    return _make_fault(
        Verdict.INVALID, step, f"The answer in step {step} is no move: {expectation}"
    )


def broken_protocol_fault(step: int, what: str) -> SeatFault:
    """The process broke the protocol on the referee's connection."""
    return _make_fault(
        Verdict.ERROR,
        step,
        f"Broken protocol {_step_text(step)}: {what};"
        " an agent must not touch the referee's connection",
    )


def contract_fault(step: int, why: str, *, is_invalid: bool, is_late: bool) -> SeatFault:
    """The agent's program broke its contract, as the contract's other side reports."""
    kind = Verdict.INVALID if is_invalid else Verdict.TIMEOUT if is_late else Verdict.ERROR
    return _make_fault(kind, step, f"Contract broken {_step_text(step)}: {why[:LONGEST_REASON]}")


def refused_bundle_fault(message: str) -> SeatFault:
    """The bundle was not unpacked; ``message`` names the entry and the rule."""
    fault = _make_fault(Verdict.ERROR, 0, f"The bundle was refused: {message}")
    return replace(fault, bundle_refused=True)


def unreachable_agent_fault(message: str) -> SeatFault:
    """The remote agent did not answer before the match; ``message`` says what came instead."""
    return _make_fault(Verdict.ERROR, 0, f"The remote agent did not answer: {message}")


def stopped_fault(first: SeatFault) -> SeatFault:
    """The fault of a copy that was not asked any more, because another copy had failed."""
    return _make_fault(
        first.verdict,
        first.step + 1,
        "Another copy of this agent failed in this validation, so this one was not asked any more",
    )


def with_game_step(fault: SeatFault, observation: Mapping[str, object]) -> SeatFault:
    """Return the fault with the step number that the agent saw, if that differs.

    Our steps count from 1; Kaggle's observations and Battlesnake's turns count from 0.
    """
    name = next((name for name in ("step", "turn") if type(observation.get(name)) is int), None)
    if name is None or observation[name] == fault.step or not fault.step:
        return fault
    note = f" (observation.{name} {observation[name]})"
    return replace(fault, reason=clean_text(fault.reason, LONGEST_REASON - len(note)) + note)


def clean_text(text: str, limit: int, *, keep_lines: bool = False) -> str:
    """Make an agent's text safe to show: no control characters, at most ``limit`` characters."""
    allowed: Callable[[str], bool] = (
        (lambda c: c.isprintable() or c in "\n\t") if keep_lines else str.isprintable
    )
    kept = "".join(c if allowed(c) else "?" for c in text[: limit + 1])
    return kept if len(kept) <= limit else kept[: limit - 3] + "..."


def _late_text(cost: MoveCost, clock: Clock, *, has_answer: bool) -> str:
    """What the agent did too long, and what is allowed."""
    idle = cost.cpu_seconds is not None and cost.cpu_seconds < IDLE_SHARE * cost.wall_seconds
    if idle:
        did = "slept or waited"
    else:
        did = "computed too long" if has_answer else "did not answer in time"
    bank = ", and its bank of extra time is used up" if clock.bank_seconds > 0 else ""
    return f"Your agent {did}: {clock.act_seconds:g} s a move is allowed{bank}"


def _cost_text(cost: MoveCost) -> str:
    cpu = "" if cost.cpu_seconds is None else f", {cost.cpu_seconds:.3f} s of cpu time"
    forgiven = cost.forgiven_seconds
    excused = f", {forgiven:.3f} s of waiting for a core not charged" if forgiven >= 0.0005 else ""
    return f"{cost.wall_seconds:.3f} s of wall time{cpu}{excused}"


def _step_text(step: int) -> str:
    return f"in step {step}" if step else "while the agent was loading"


def _make_fault(
    verdict: Verdict, step: int, reason: str, traceback: str | None = None
) -> SeatFault:
    sentence = clean_text(" ".join(reason.split()), LONGEST_REASON)
    return SeatFault(verdict, sentence, step, traceback)
